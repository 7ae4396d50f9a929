/* A lane for each host, stream and direction: its jobs, its connection, its thread. */
#include "daemon/peer/pull/bulk_private.h"

#include "base/memory.h"
#include "cluster/pull/pull_message.h"
#include "daemon/transport/pipe.h"

#include <endian.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>

#define PATIENCE_US 3000000u /* for a thread that is to let go of its range */
#define PAUSE_US 50000u      /* after the first try to open a stream; twice as long after each, */
#define PAUSES 4u            /* so often */

/* Who opens a stream says whose it is. Little-endian. */
struct ticket { uint32_t host, epoch, other_epoch, stream; uint64_t term; };
_Static_assert(sizeof(struct ticket) == 24, "no gaps");

/* --- reports ------------------------------------------------------------------------------------------------------------------ */

static void report_all(struct pw_bulk_lane *lane, enum pw_status status)
{
        struct pw_bulk_task *job;

        pthread_mutex_lock(&lane->bulk->lock);
        pw_list_each(&lane->jobs, job, struct pw_bulk_task, link)
                pw_bulk_report(lane->bulk, job, status);
        pthread_mutex_unlock(&lane->bulk->lock);
}

static void free_lane(struct pw_bulk_lane *lane)
{
        pw_dial_free(lane->dial);
        pw_pipe_free(lane->next);
        pw_list_remove(&lane->link);
        pthread_cond_destroy(&lane->changed);
        free(lane);
}

static void count(const struct pw_bulk_task *job, struct pw_peers *peers)
{
        if (job->status == PW_OK)
                pw_peers_count(peers, job->host, &(struct pw_traffic){ .bulk_out = job->sends ? job->what.bytes : 0,
                                                                       .bulk_in = job->sends ? 0 : job->what.bytes });
}

static void on_done(evutil_socket_t fd, short what, void *context)
{
        struct pw_bulk *bulk = context;
        struct pw_list finished;
        struct pw_bulk_lane *lane;
        struct pw_bulk_task *job;
        char bytes[64];

        (void)what;
        pw_woken(&bulk->peers->daemon->loop);
        while (read(fd, bytes, sizeof bytes) > 0) {
        }
        pw_list_init(&finished);
        pthread_mutex_lock(&bulk->lock);
        pw_list_each(&bulk->done, job, struct pw_bulk_task, link) {
                pw_list_remove(&job->link);
                pw_list_append(&finished, &job->link);
        }
        pthread_mutex_unlock(&bulk->lock);
        pw_list_each(&bulk->over, lane, struct pw_bulk_lane, link)
                free_lane(lane);
        while (!pw_list_empty(&finished)) {
                job = pw_list_first(&finished, struct pw_bulk_task, link);
                pw_list_remove(&job->link);
                count(job, bulk->peers);
                if (job->sends)
                        bulk->reports->sent(bulk->peers, job->what.number, job->status, job->done_us);
                else
                        bulk->reports->received(bulk->peers, job->what.number, job->status, job->done_us);
                free(job);
        }
        bulk->peers->daemon->loop.more = true;
}

/* --- lanes -------------------------------------------------------------------------------------------------------------------- */

static struct pw_bulk_lane *lane_of(struct pw_bulk *bulk, uint32_t host, uint32_t stream, bool sends)
{
        struct pw_bulk_lane *lane;

        pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link)
                if (lane->host == host && lane->stream == stream && lane->sends == sends && (sends || !lane->stop))
                        return lane;
        lane = calloc(1, sizeof *lane);
        if (!lane)
                return NULL;
        *lane = (struct pw_bulk_lane){ .bulk = bulk, .host = host, .stream = stream, .sends = sends };
        pthread_cond_init(&lane->changed, NULL);
        pw_list_init(&lane->jobs);
        pw_list_append(&bulk->lanes, &lane->link);
        return lane;
}

/* Its jobs are reported; whoever asks next has another one. */
static void end_lane(struct pw_bulk_lane *lane, enum pw_status status)
{
        struct pw_bulk *bulk = lane->bulk;

        report_all(lane, status);
        pw_list_remove(&lane->link);
        pw_list_append(&bulk->over, &lane->link);
        (void)!TEMP_FAILURE_RETRY(write(bulk->pipe_fds[1], "", 1));
}

static void shut(struct pw_bulk_lane *lane)
{
        pthread_mutex_lock(&lane->bulk->lock);
        lane->stop = true;
        pthread_cond_broadcast(&lane->changed);
        pthread_mutex_unlock(&lane->bulk->lock);
        if (lane->connection)
                pw_bulk_stream_shut(lane->connection);
}

static bool has_jobs(struct pw_bulk_lane *lane)
{
        bool has;

        pthread_mutex_lock(&lane->bulk->lock);
        has = !pw_list_empty(&lane->jobs);
        pthread_mutex_unlock(&lane->bulk->lock);
        return has;
}

static const struct pw_link *link_of(const struct pw_host *host) { return host && host->peer ? host->peer->link : NULL; }

/* It is met soon, or given up. */
static bool is_called(const struct pw_link *link) { return link && link->state != PW_LINK_UP && link->state != PW_LINK_AWAY; }

/* It could not be opened: once more, if somebody waits for it: after a pause, for a lease; or, where the whole connection broke,
 * when there is another one. */
static void missed(struct pw_bulk_lane *lane, const char *why)
{
        struct pw_daemon *daemon = lane->bulk->peers->daemon;
        bool waits = is_called(link_of(pw_hosts_get(&lane->bulk->peers->hosts, lane->host)));
        uint64_t pause_us = (uint64_t)PAUSE_US << pw_min_u64(lane->tries, PAUSES);

        if (lane->stop || !has_jobs(lane)) {
                end_lane(lane, PW_SYSTEM);
        } else if (!waits && lane->paused_us >= daemon->settings.lease_us) {
                pw_log(&daemon->log, PW_LOG_WARNING, "no stream for values can be opened host=h%u reason=\"%s\"", lane->host, why);
                end_lane(lane, PW_DEADLINE);
        } else if (!waits) {
                lane->tries++;
                lane->paused_us += pause_us;
                lane->call_us = pw_now_us() + pause_us;
                lane->bulk->next_us = pw_min_u64(lane->bulk->next_us, lane->call_us);
        }
}

static void begin(struct pw_bulk_lane *lane, struct pw_pipe *pipe_take);

/* Its thread is done with every room. What others are to be sent waits for their next stream: they ask for no more of it where they
 * see that this one broke. */
static void ended(void *context)
{
        struct pw_bulk_lane *lane = context;
        struct pw_pipe *next = lane->next;

        pw_bulk_stream_free(lane->connection);
        lane->connection = NULL;
        lane->next = NULL;
        if (next)
                begin(lane, next);
        else if (lane->sends && has_jobs(lane))
                lane->stop = false;
        else if (lane->sends || lane->useful)
                end_lane(lane, PW_SYSTEM);
        else
                missed(lane, "the other side hung up");
}

static void begin(struct pw_bulk_lane *lane, struct pw_pipe *pipe_take)
{
        struct pw_bulk_stream_params params = { pw_bulk_work, ended, lane };
        struct pw_error err;

        lane->stop = false;
        if (pw_bulk_stream_new(pipe_take, &params, &lane->connection, &err) == PW_OK)
                return;
        pw_log(&lane->bulk->peers->daemon->log, PW_LOG_WARNING, "bulk stream not opened host=h%u reason=\"%s\"", lane->host,
               err.text);
        pw_pipe_free(pipe_take);
        end_lane(lane, PW_SYSTEM);
}

/* --- opening ------------------------------------------------------------------------------------------------------------------ */

static void called(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting, const struct pw_error *why)
{
        struct pw_bulk_lane *lane = context;

        (void)greeting;
        lane->called = true;
        if (pipe_take && !lane->stop) {
                begin(lane, pipe_take);
                return;
        }
        pw_pipe_free(pipe_take);
        if (why)
                pw_log(&lane->bulk->peers->daemon->log, PW_LOG_DEBUG, "bulk stream not opened host=h%u reason=\"%s\"", lane->host,
                       why->text);
        missed(lane, why ? why->text : "it is not wanted any more");
}

static enum pw_status call(struct pw_bulk_lane *lane, struct pw_error *ret_err)
{
        struct pw_peers *peers = lane->bulk->peers;
        const struct pw_host *host = pw_hosts_get(&peers->hosts, lane->host);
        const struct pw_link *link = link_of(host);
        char address[PW_HOST_ADDRESS_MAX + 1];
        struct ticket ticket;
        struct pw_dial_params params = { .address = address, .use = PW_USE_BULK, .ticket = &ticket, .ticket_bytes = sizeof ticket,
                                         .done = called, .context = lane };

        if (is_called(link))
                return pw_error_set(ret_err, PW_NOT_READY, "it is met first");
        if (!link || link->state != PW_LINK_UP || !pw_peers_address(host, lane->tries, address))
                return pw_error_set(ret_err, PW_HOST_LOST, "there is no link to it");
        pw_dial_free(lane->dial);
        lane->dial = NULL;
        lane->called = false;
        params.expected = host->row.name;
        ticket = (struct ticket){ htole32(peers->own.host), htole32(peers->own.peer.epoch), htole32(link->epoch),
                                  htole32(lane->stream), htole64(link->term) };
        return pw_transport_dial(peers->transport, &params, &lane->dial, ret_err);
}

/* Open it, unless it is open or being opened, or has to wait. */
static void open_lane(struct pw_bulk_lane *lane)
{
        struct pw_error err;
        enum pw_status status;

        if (lane->connection || (lane->dial && !lane->called) || lane->call_us)
                return;
        status = call(lane, &err);
        if (status == PW_HOST_LOST)
                end_lane(lane, PW_SYSTEM);
        else if (status != PW_OK && status != PW_NOT_READY)
                missed(lane, err.text);
}

/* Also while they call each other anew: the term goes on until one gives the other up. */
static bool is_met(const struct pw_link *link) { return link && (link->state == PW_LINK_UP || link->state == PW_LINK_CUT); }

/* Is that its stream, of the term that the two are in? */
static bool is_theirs(const struct pw_peers *peers, const struct pw_greeting *greeting, struct ticket *ret_ticket)
{
        const struct pw_host *host;
        const struct pw_link *link;

        if (greeting->ticket_bytes != sizeof *ret_ticket)
                return false;
        memcpy(ret_ticket, greeting->ticket, sizeof *ret_ticket);
        host = pw_hosts_get(&peers->hosts, le32toh(ret_ticket->host));
        link = link_of(host);
        return is_met(link) && pw_host_name_equal(host->row.name, greeting->name) &&
               link->epoch == le32toh(ret_ticket->epoch) && link->term == le64toh(ret_ticket->term) &&
               peers->own.peer.epoch == le32toh(ret_ticket->other_epoch) && le32toh(ret_ticket->stream) < PW_PULL_STREAMS_MAX;
}

void pw_bulk_came(struct pw_bulk *bulk, struct pw_pipe *pipe_take, const struct pw_greeting *greeting)
{
        struct ticket ticket;
        struct pw_bulk_lane *lane = is_theirs(bulk->peers, greeting, &ticket)
                                    ? lane_of(bulk, le32toh(ticket.host), le32toh(ticket.stream), true) : NULL;

        if (!lane) { /* also of a term that has ended meanwhile: who opened it knows that soon */
                pw_log(&bulk->peers->daemon->log, PW_LOG_DEBUG, "bulk stream refused name=%s", greeting->name);
                pw_pipe_free(pipe_take);
        } else if (lane->connection) {
                pw_pipe_free(lane->next);
                lane->next = pipe_take;
                shut(lane);
        } else {
                begin(lane, pipe_take);
        }
}

/* --- jobs --------------------------------------------------------------------------------------------------------------------- */

static void add(struct pw_bulk *bulk, struct pw_bulk_lane *lane, const struct pw_bulk_job *what, bool sends)
{
        struct pw_bulk_task *job = malloc(sizeof *job);

        if (!job || !lane) { /* without memory to say so later, it is said now */
                free(job);
                (sends ? bulk->reports->sent : bulk->reports->received)(bulk->peers, what->number, PW_NO_MEMORY, pw_now_us());
                return;
        }
        *job = (struct pw_bulk_task){ .what = *what, .host = lane->host, .sends = sends };
        pw_list_init(&job->link);
        pthread_mutex_lock(&bulk->lock);
        pw_list_append(&lane->jobs, &job->link);
        pthread_cond_signal(&lane->changed);
        pthread_mutex_unlock(&bulk->lock);
}

void pw_bulk_receive(struct pw_bulk *bulk, uint32_t host, uint32_t stream, const struct pw_bulk_job *job)
{
        struct pw_bulk_lane *lane = lane_of(bulk, host, stream, false);

        add(bulk, lane, job, false);
        if (lane)
                open_lane(lane);
}

void pw_bulk_send(struct pw_bulk *bulk, uint32_t host, uint32_t stream, const struct pw_bulk_job *job)
{
        add(bulk, lane_of(bulk, host, stream, true), job, true);
}

/* Among those that are not begun. */
static bool drop_job(struct pw_bulk_lane *lane, uint64_t number)
{
        struct pw_bulk_task *job;
        bool found = false;

        pthread_mutex_lock(&lane->bulk->lock);
        pw_list_each(&lane->jobs, job, struct pw_bulk_task, link)
                if (job->what.number == number) {
                        pw_bulk_report(lane->bulk, job, PW_CANCELLED);
                        found = true;
                }
        pthread_mutex_unlock(&lane->bulk->lock);
        return found;
}

/* One that is begun: its thread lets go soon, or is made to. */
static void stop_job(struct pw_bulk_lane *lane, uint64_t number)
{
        struct pw_bulk *bulk = lane->bulk;

        pthread_mutex_lock(&bulk->lock);
        if (lane->current && lane->current->what.number == number && !lane->current->stop_us) {
                lane->current->stop_us = pw_now_us() + PATIENCE_US;
                bulk->next_us = pw_min_u64(bulk->next_us, lane->current->stop_us);
        }
        pthread_mutex_unlock(&bulk->lock);
}

void pw_bulk_stop_receiving(struct pw_bulk *bulk, uint32_t host, uint32_t stream, uint64_t ask)
{
        struct pw_bulk_lane *lane;

        pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link)
                if (lane->host == host && lane->stream == stream && !lane->sends && !drop_job(lane, ask))
                        stop_job(lane, ask);
}

void pw_bulk_stop_sending(struct pw_bulk *bulk, uint64_t send)
{
        struct pw_bulk_lane *lane;

        pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link)
                if (lane->sends && !drop_job(lane, send))
                        stop_job(lane, send);
}

/* --- life --------------------------------------------------------------------------------------------------------------------- */

void pw_bulk_ended(struct pw_bulk *bulk, uint32_t host)
{
        struct pw_bulk_lane *lane;

        pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link) {
                if (lane->host != host)
                        continue;
                pw_pipe_free(lane->next);
                lane->next = NULL;
                shut(lane);
                report_all(lane, PW_SYSTEM); /* what comes from now on is of another term */
                if (!lane->connection && (!lane->dial || lane->called))
                        end_lane(lane, PW_SYSTEM);
        }
}

void pw_bulk_met(struct pw_bulk *bulk, uint32_t host)
{
        struct pw_bulk_lane *lane;

        pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link)
                if (lane->host == host && !lane->sends && !lane->stop) {
                        lane->tries = 0;
                        lane->paused_us = 0;
                        open_lane(lane);
                }
}

static void turn_lane(struct pw_bulk_lane *lane, uint64_t now_us)
{
        struct pw_bulk *bulk = lane->bulk;
        uint64_t stop_us;

        pthread_mutex_lock(&bulk->lock);
        stop_us = lane->current && !lane->stop ? lane->current->stop_us : 0;
        pthread_mutex_unlock(&bulk->lock);
        if (stop_us && stop_us <= now_us)
                shut(lane);
        else if (stop_us)
                bulk->next_us = pw_min_u64(bulk->next_us, stop_us);
        if (lane->call_us > now_us) {
                bulk->next_us = pw_min_u64(bulk->next_us, lane->call_us);
        } else if (lane->call_us) {
                lane->call_us = 0;
                open_lane(lane);
        }
}

void pw_bulk_turn(struct pw_bulk *bulk, uint64_t now_us)
{
        struct pw_bulk_lane *lane;

        if (now_us < bulk->next_us)
                return;
        bulk->next_us = UINT64_MAX;
        pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link)
                turn_lane(lane, now_us);
}

uint64_t pw_bulk_next_us(const struct pw_bulk *bulk) { return bulk->next_us; }

enum pw_status pw_bulk_new(struct pw_peers *peers, const struct pw_bulk_reports *reports, struct pw_bulk **ret_bulk,
                           struct pw_error *ret_err)
{
        struct pw_bulk *bulk = calloc(1, sizeof *bulk);
        int number;

        if (!bulk)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for bulk streams");
        bulk->peers = peers;
        bulk->reports = reports;
        bulk->next_us = UINT64_MAX;
        pw_list_init(&bulk->lanes);
        pw_list_init(&bulk->over);
        pw_list_init(&bulk->done);
        pthread_mutex_init(&bulk->lock, NULL);
        if (pipe2(bulk->pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
                number = errno;
                bulk->pipe_fds[0] = bulk->pipe_fds[1] = -1;
                pw_bulk_free(bulk);
                return pw_error_errno(ret_err, number, "pipe of bulk streams");
        }
        bulk->event = event_new(peers->daemon->loop.base, bulk->pipe_fds[0], EV_READ | EV_PERSIST, on_done, bulk);
        if (!bulk->event || event_add(bulk->event, NULL) < 0) {
                pw_bulk_free(bulk);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for bulk streams");
        }
        *ret_bulk = bulk;
        return PW_OK;
}

void pw_bulk_stop(struct pw_bulk *bulk)
{
        struct pw_bulk_lane *lane;

        pw_list_each(&bulk->over, lane, struct pw_bulk_lane, link)
                free_lane(lane); /* while the transport has their calls */
        pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link) {
                pw_pipe_free(lane->next);
                lane->next = NULL;
                shut(lane);
                pw_dial_free(lane->dial);
                lane->dial = NULL;
        }
        pw_list_each(&bulk->over, lane, struct pw_bulk_lane, link)
                free_lane(lane);
}

void pw_bulk_free(struct pw_bulk *bulk)
{
        struct pw_bulk_lane *lane;
        struct pw_bulk_task *job;

        if (!bulk)
                return;
        pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link) {
                pw_bulk_stream_free(lane->connection);
                report_all(lane, PW_CANCELLED);
                free_lane(lane);
        }
        pw_list_each(&bulk->done, job, struct pw_bulk_task, link)
                free(job);
        if (bulk->event)
                event_free(bulk->event);
        pw_close_fd(&bulk->pipe_fds[0]);
        pw_close_fd(&bulk->pipe_fds[1]);
        pthread_mutex_destroy(&bulk->lock);
        free(bulk);
}
