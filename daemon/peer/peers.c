/* Peers from start to end: what is listened at, the host table, turns. */
#include "daemon/peer/borrowed.h"
#include "daemon/peer/borrowing.h"
#include "daemon/peer/call.h"
#include "daemon/peer/draining.h"
#include "daemon/peer/lending.h"
#include "daemon/peer/name/handing.h"
#include "daemon/peer/name/naming.h"
#include "daemon/peer/page/paging.h"
#include "daemon/peer/port.h"
#include "daemon/peer/pull/bulk.h"
#include "daemon/peer/pull/pulling.h"
#include "daemon/peer/taking.h"

#include "base/memory.h"
#include "base/transition.h"
#include "daemon/meta/carry.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW 256u             /* works of another host under way here at most */
#define KEPT_BYTES (64u << 20)  /* of frames that a host does not take: then it is given up */

const struct pw_owner pw_peers_threads = { PW_OWNER_RUN, 0 };

uint64_t pw_boot_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static void note(void *context, const struct pw_transition *transition)
{
        const struct pw_peers *peers = context;
        char line[PW_TRANSITION_TEXT_BYTES];

        if (peers->daemon->log.level < PW_LOG_DEBUG)
                return; /* formatting is what costs */
        pw_log(&peers->daemon->log, PW_LOG_DEBUG, "%s", pw_transition_format(transition, line));
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

/* What its address and what proves it say of the kind. */
static const char *kind_of(const struct pw_settings *settings)
{
        if (settings->listen[0] == '/')
                return "unix";
        return settings->tls_cert ? "tls" : "tcp";
}

static enum pw_status listen_at(struct pw_peers *peers, struct pw_error *ret_err)
{
        const struct pw_settings *settings = &peers->daemon->settings;
        const struct pw_transport_params params = { .loop = &peers->daemon->loop,
                                                    .host_name = peers->daemon->carried.host_name,
                                                    .handshake_us = settings->lease_us,
                                                    .secret_file = settings->secret_file,
                                                    .tls_cert = settings->tls_cert,
                                                    .tls_key = settings->tls_key,
                                                    .tls_ca = settings->tls_ca };
        enum pw_status status = pw_transport_open(kind_of(settings), &params, &peers->transport, ret_err);
        char last[PW_PORT_ADDRESS_BYTES];

        if (status == PW_OK && pw_port_last(peers->daemon, last)) /* where others know it; another one may be there by now */
                (void)!pw_transport_listen(peers->transport, last, &pw_calls_events, peers, &peers->listener, NULL);
        if (status == PW_OK && !peers->listener)
                status = pw_transport_listen(peers->transport, settings->listen, &pw_calls_events, peers, &peers->listener,
                                             ret_err);
        if (status != PW_OK) {
                pw_error_prefix(ret_err, "--listen %s", settings->listen);
                return status;
        }
        peers->address = (char *)(uintptr_t)pw_listener_address(peers->listener);
        peers->addresses = (struct pw_text_list){ &peers->address, 1 };
        pw_log(&peers->daemon->log, PW_LOG_INFO, "listening for hosts kind=%s address=%s", kind_of(settings), peers->address);
        return PW_OK;
}

enum pw_status pw_peers_new(struct pw_daemon *daemon, struct pw_peers **ret_peers, struct pw_error *ret_err)
{
        struct pw_peers *peers = calloc(1, sizeof *peers);
        enum pw_status status;

        if (!peers)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for other hosts");
        peers->daemon = daemon;
        peers->fetches_us = UINT64_MAX;
        peers->observer = (struct pw_observer){ note, peers };
        pw_list_init(&peers->silent);
        pw_list_init(&peers->over);
        pw_list_init(&peers->failed);
        pw_list_init(&peers->lent);
        pw_list_init(&peers->takings);
        pw_list_init(&peers->drain_askers);
        pw_list_init(&peers->handed);
        pw_list_init(&peers->offerings);
        pw_list_init(&peers->wantings);
        pw_list_init(&peers->pullings);
        pw_list_init(&peers->sendings);
        pw_list_init(&peers->unmade);
        pw_list_init(&peers->opening);
        pw_list_init(&peers->names_asked);
        pw_list_init(&peers->name_questions);
        pw_list_init(&peers->fetches);
        pw_list_init(&peers->pages);
        status = listen_at(peers, ret_err);
        if (status == PW_OK)
                *ret_peers = peers;
        else
                pw_peers_free(peers);
        return status;
}

static void traffic_done(struct pw_peers *peers)
{
        struct pw_traffic *traffic;

        for (uint32_t at = 0; (traffic = pw_table_next(&peers->traffic, &at));)
                free(traffic);
        pw_table_done(&peers->traffic);
}

void pw_peers_free(struct pw_peers *peers)
{
        if (!peers)
                return;
        peers->daemon->registry.foreign = NULL;
        if (peers->joined)
                pw_hosts_done(&peers->hosts);
        pw_draining_done(peers);
        pw_taking_done(peers);
        pw_borrowing_done(peers);
        pw_lending_done(peers);
        pw_naming_done(peers);
        pw_paging_done(peers);
        pw_calls_done(peers);
        pw_pulling_stop(peers);
        if (peers->transport)
                pw_transport_close(peers->transport); /* waits for threads that have rooms */
        pw_pulling_close(peers);
        traffic_done(peers);
        free(peers);
}

const struct pw_text_list *pw_peers_addresses(const struct pw_peers *peers) { return peers ? &peers->addresses : NULL; }

/* --- what metadata says ------------------------------------------------------------------------------------------------------- */

static void joined(void *context, const struct pw_meta_own *own)
{
        struct pw_peers *peers = context;
        const struct pw_settings *settings = &peers->daemon->settings;
        struct pw_hosts_params params = { .link = { .own = own->host, .own_epoch = own->epoch, .lease_us = settings->lease_us,
                                                    .beat_us = pw_min_u64(PW_PEERS_BEAT_US, settings->lease_us / 6),
                                                    .window = WINDOW, .kept_bytes_max = KEPT_BYTES,
                                                    .observer = &peers->observer },
                                          .own = &peers->own, .port = &pw_calls_port, .context = peers };
        struct pw_borrow_params borrow = { own->host, settings->lease_us, peers->daemon->hash_secret, &peers->observer };
        struct pw_error err;
        enum pw_status status;

        peers->own = (struct pw_hello){ .version = PW_PEER_VERSION, .incarnation = own->incarnation, .cluster = own->cluster,
                                        .name = own->name, .address = peers->address, .host = own->host,
                                        .peer = { .epoch = own->epoch, .instance = own->instance } };
        status = pw_borrow_new(&borrow, &peers->borrow, &err);
        if (status == PW_OK)
                status = pw_lend_new(&peers->observer, &peers->lend, &err);
        if (status == PW_OK)
                status = pw_draining_open(peers, &err);
        if (status == PW_OK)
                status = pw_pulling_open(peers, &err);
        if (status != PW_OK) {
                pw_log(&peers->daemon->log, PW_LOG_ERROR, "this host deals with no other reason=\"%s\"", err.text);
                return; /* pw_peers_free() gives back what there is */
        }
        pw_hosts_init(&peers->hosts, &params);
        peers->names_session = ++peers->daemon->registry.next_session;
        peers->daemon->registry.foreign = &pw_borrowing_foreign;
        peers->joined = true;
        pw_port_keep(peers->daemon, peers->address);
}

/* Every host is dealt with from when it is known: so it is known who is there, and who is not. */
static void host_known(void *context, const struct pw_host_row *row)
{
        struct pw_peers *peers = context;
        struct pw_peer *peer;
        struct pw_error err;
        enum pw_status status;

        if (!peers->joined)
                return;
        status = pw_hosts_put(&peers->hosts, row, NULL, &err);
        if (status == PW_OK)
                status = pw_hosts_peer(&peers->hosts, row->number, &peer, &err);
        if (status == PW_OK)
                pw_peer_want(peer, pw_boot_us());
        if (status == PW_OK && row->successor)
                status = pw_borrow_drained(peers->borrow, row->number, row->epoch, row->successor, &err);
        if (status != PW_OK)
                pw_log(&peers->daemon->log, PW_LOG_WARNING, "host not dealt with host=h%u name=%s reason=\"%s\"", row->number,
                       row->name, err.text);
        peers->daemon->loop.more = true;
}

const struct pw_meta_hosts pw_peers_hear = { joined, host_known };

uint32_t pw_peers_address_count(const struct pw_host *host)
{
        uint32_t count = 1;

        for (const char *c = host->row.address; *c; c++)
                count += *c == ',';
        return count;
}

bool pw_peers_address(const struct pw_host *host, uint32_t turn, char address[PW_HOST_ADDRESS_MAX + 1])
{
        const char *at = host->row.address, *stop;

        for (uint32_t skip = turn % pw_peers_address_count(host); skip; skip--)
                at = strchr(at, ',') + 1;
        stop = strchr(at, ',');
        snprintf(address, PW_HOST_ADDRESS_MAX + 1, "%.*s", stop ? (int)(stop - at) : (int)strlen(at), at);
        return address[0] && strcmp(address, "-") != 0;
}

/* --- saying ------------------------------------------------------------------------------------------------------------------- */

void pw_peers_work_done(struct pw_peers *peers, uint32_t number)
{
        const struct pw_host *host = pw_hosts_get(&peers->hosts, number);

        if (host && host->peer)
                pw_link_work_done(host->peer->link);
}

void pw_peers_give_up(struct pw_peers *peers, uint32_t number, const struct pw_error *why)
{
        const struct pw_host *host = pw_hosts_get(&peers->hosts, number);

        if (host && host->peer)
                pw_peer_give_up(host->peer, why, pw_boot_us());
}

void pw_peers_send(struct pw_peers *peers, uint32_t number, enum pw_peer_body whose, struct pw_link_frame *frame_take)
{
        struct pw_peer *peer;
        struct pw_error err;
        enum pw_status status = pw_hosts_peer(&peers->hosts, number, &peer, &err);

        frame_take->whose = (uint8_t)whose;
        if (status == PW_OK)
                status = pw_peer_send(peer, frame_take, pw_boot_us(), &err);
        if (status != PW_OK) {
                pw_log(&peers->daemon->log, PW_LOG_DEBUG, "not said host=h%u reason=\"%s\"", number, err.text);
                pw_link_frame_free(frame_take);
        }
        peers->daemon->loop.more = true;
}

/* --- turns -------------------------------------------------------------------------------------------------------------------- */

/* The sockets were read up to when the loop looked at them last. */
static uint64_t read_us(const struct pw_daemon *daemon) { return pw_boot_us() - (pw_now_us() - daemon->loop.polled_us); }

bool pw_peers_turn(struct pw_daemon *daemon)
{
        struct pw_peers *peers = daemon->peers;
        uint64_t up_to_us;
        struct pw_host *host;
        bool any;

        if (!peers || !peers->joined)
                return false;
        up_to_us = read_us(daemon);
        pw_pulling_turn(peers);
        pw_bulk_turn(peers->bulk, pw_now_us());
        any = pw_calls_turn(peers);
        any |= pw_borrowing_turn(peers);
        any |= pw_lending_turn(peers);
        pw_draining_turn(peers);
        daemon->loop.more |= any;
        for (uint32_t at = 0; (host = pw_hosts_next(&peers->hosts, &at));) {
                if (!host->peer)
                        continue;
                pw_naming_turn(peers, host);
                if (pw_peer_next_us(host->peer) <= up_to_us)
                        pw_peer_turn(host->peer, up_to_us);
        }
        return any;
}

void pw_peers_write(struct pw_daemon *daemon)
{
        struct pw_peers *peers = daemon->peers;
        struct pw_host *host;

        if (!peers || !peers->joined)
                return;
        for (uint32_t at = 0; (host = pw_hosts_next(&peers->hosts, &at));)
                if (host->peer)
                        pw_calls_write(peers, host->peer);
}

uint64_t pw_peers_next_us(const struct pw_daemon *daemon)
{
        const struct pw_peers *peers = daemon->peers;
        uint64_t next_us = UINT64_MAX, boot_us, now_us;
        const struct pw_host *host;

        if (!peers)
                return UINT64_MAX;
        if (peers->joined) {
                next_us = pw_min_u64(pw_borrowing_next_us(peers), pw_pulling_next_us(peers));
                next_us = pw_min_u64(next_us, pw_draining_next_us(peers));
                for (uint32_t at = 0; (host = pw_hosts_next(&peers->hosts, &at));)
                        if (host->peer)
                                next_us = pw_min_u64(next_us, pw_peer_next_us(host->peer));
        }
        boot_us = pw_boot_us();
        now_us = pw_now_us();
        if (next_us != UINT64_MAX)
                next_us = now_us + (next_us > boot_us ? next_us - boot_us : 0);
        if (peers->joined)
                next_us = pw_min_u64(next_us, pw_bulk_next_us(peers->bulk));
        next_us = pw_min_u64(pw_min_u64(next_us, peers->fetches_us), pw_calls_next_us(peers));
        next_us = pw_min_u64(next_us, pw_paging_next_us(peers));
        return pw_min_u64(next_us, pw_transport_next_us(peers->transport));
}

void pw_peers_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        pw_transport_turn(daemon->peers->transport, now_us);
        pw_calls_tick(daemon->peers, now_us);
        pw_paging_tick(daemon->peers, now_us);
        daemon->peers->fetches_us = pw_fetching_turn(daemon->peers, now_us);
        daemon->loop.more = true;
}

bool pw_peers_want_drops(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_peers *peers = daemon->peers;

        if (!peers || !peers->borrowed.count || now_us - peers->looked_us < PW_PEERS_BEAT_US)
                return false;
        peers->looked_us = now_us;
        return true;
}

void pw_peers_decided(struct pw_daemon *daemon, struct pw_object *object)
{
        if (!daemon->peers || !daemon->peers->joined)
                return;
        pw_lending_decided(daemon->peers, object);
        pw_handing_decided(daemon->peers);
}

/* Counting may fail for lack of memory: then it begins later. */
void pw_peers_count(struct pw_peers *peers, uint32_t number, const struct pw_traffic *more)
{
        struct pw_traffic *traffic = pw_table_get(&peers->traffic, number);

        if (!traffic) {
                traffic = calloc(1, sizeof *traffic);
                if (!traffic || !pw_table_put(&peers->traffic, number, traffic)) {
                        free(traffic);
                        return;
                }
        }
        traffic->out += more->out;
        traffic->in += more->in;
        traffic->bulk_out += more->bulk_out;
        traffic->bulk_in += more->bulk_in;
}

void pw_peers_travels(struct pw_daemon *daemon, pw_travelled_fn told)
{
        if (daemon->peers)
                daemon->peers->travelled = told;
}

/* --- who is there ------------------------------------------------------------------------------------------------------------- */

static void see_link(const struct pw_peers *peers, const struct pw_host *host, struct pw_host_seen *seen)
{
        const struct pw_link *link = host->peer->link;
        bool waits = link->state != PW_LINK_IDLE && link->state != PW_LINK_AWAY;
        struct pw_link_sample clock;
        uint64_t out, in;

        seen->epoch = link->epoch > seen->epoch ? link->epoch : seen->epoch; /* metadata may be later than it */
        seen->term = link->term;
        seen->heard_us = link->heard_us;
        seen->since_us = link->since_us;
        seen->given_up_us = waits ? pw_link_ends_us(link) : 0;
        seen->round_us = link->round_us;
        if (pw_link_clock_see(&link->clock, pw_boot_us(), &clock)) {
                seen->clock_us = clock.ahead_us;
                seen->clock_bound_us = clock.bound_us;
        }
        pw_calls_count(peers, host->peer, &out, &in);
        seen->bytes_out += out;
        seen->bytes_in += in;
}

static void see(const struct pw_peers *peers, const struct pw_host *host, struct pw_host_seen *ret_seen)
{
        static const char *const states[PW_LINK_STATES] = { "idle", "calling", "up", "cut", "away" };
        const struct pw_traffic *traffic = pw_table_get(&peers->traffic, host->row.number);

        *ret_seen = (struct pw_host_seen){ .host = host, .epoch = host->row.epoch,
                                           .state = states[host->peer ? pw_link_seen(host->peer->link) : PW_LINK_IDLE] };
        if (traffic) {
                ret_seen->bytes_out = traffic->out;
                ret_seen->bytes_in = traffic->in;
                ret_seen->bulk_out = traffic->bulk_out;
                ret_seen->bulk_in = traffic->bulk_in;
        }
        if (host->peer)
                see_link(peers, host, ret_seen);
}

uint32_t pw_peers_find(const struct pw_daemon *daemon, const char *text)
{
        const struct pw_peers *peers = daemon->peers;
        const struct pw_host *host;
        char number[16];

        if (!peers || !peers->joined)
                return 0;
        for (uint32_t at = 0; (host = pw_hosts_next(&peers->hosts, &at));) {
                snprintf(number, sizeof number, "h%u", host->row.number);
                if (!strcmp(text, host->row.name) || !strcmp(text, number))
                        return host->row.number;
        }
        return 0;
}

bool pw_peers_see(const struct pw_daemon *daemon, uint32_t number, struct pw_host_seen *ret_seen)
{
        const struct pw_peers *peers = daemon->peers;
        const struct pw_host *host = peers && peers->joined ? pw_hosts_get(&peers->hosts, number) : NULL;

        if (host)
                see(peers, host, ret_seen);
        return host;
}

void pw_peers_each(const struct pw_daemon *daemon, void (*row)(void *context, const struct pw_host_seen *seen), void *context)
{
        const struct pw_peers *peers = daemon->peers;
        const struct pw_host *host;
        struct pw_host_seen seen;

        if (!peers || !peers->joined)
                return;
        for (uint32_t at = 0; (host = pw_hosts_next(&peers->hosts, &at));) {
                see(peers, host, &seen);
                row(context, &seen);
        }
}
