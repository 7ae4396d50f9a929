/* Chains to other hosts: an object that is opened, decided or pulled there, and the link with that host. */
#include "daemon/inspect/why/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "daemon/peer/peers.h"
#include "store/object.h"

#include <inttypes.h>

#define SILENT_US 1000000u /* two beats */

/* --- a link ------------------------------------------------------------------------------------------------------------------- */

/* A time of CLOCK_BOOTTIME by the clock of the listing; 0 stays 0. */
static uint64_t listed_us(const struct pw_chain *chain, uint64_t boot_us)
{
        uint64_t now_us = chain->lister->now_us, boot_now_us = pw_boot_us();

        return boot_us ? now_us - pw_min_u64(now_us, boot_now_us - pw_min_u64(boot_now_us, boot_us)) : 0;
}

/* "host bert (h2)" */
static const char *host_text(const struct pw_chain *chain, uint32_t number, char text[100])
{
        const struct pw_daemon *daemon = chain->lister->daemon;
        struct pw_host_seen seen;

        if (number == daemon->host)
                pw_text_format(text, 100, "host %s (h%" PRIu32 ")", daemon->carried.host_name, number);
        else if (pw_peers_see(daemon, number, &seen))
                pw_text_format(text, 100, "host %s (h%" PRIu32 ")", seen.host->row.name, number);
        else
                pw_text_format(text, 100, "host h%" PRIu32, number);
        return text;
}

static void tell_link(struct pw_chain *chain, const struct pw_host_seen *seen, const char *what, const char *remedy)
{
        uint64_t boot_us = pw_boot_us(), silent_us = boot_us - pw_min_u64(boot_us, seen->heard_us);
        char waits[PW_WHY_BYTES], mend[PW_WHY_BYTES], heard[16], left[16];
        struct pw_cause_link link = { what, waits, listed_us(chain, seen->since_us), mend };

        pw_duration_format(silent_us, heard);
        pw_duration_format(seen->given_up_us - pw_min_u64(seen->given_up_us, boot_us), left);
        pw_text_format(mend, sizeof mend, "see that pathwaysd runs on host %s, and that this host reaches %s: its log says why not",
                       seen->host->row.name, seen->host->row.address);
        if (!strcmp(seen->state, "up") && silent_us < SILENT_US) {
                pw_text_format(waits, sizeof waits, "nothing that is known here: its link is up, it was heard %s ago", heard);
                pw_text_format(mend, sizeof mend, "%s", remedy);
        } else if (!strcmp(seen->state, "up")) {
                pw_text_format(waits, sizeof waits, "a word of it: its link is up, but it has said nothing for %s, and is given up "
                               "in %s", heard, left);
                pw_text_format(mend, sizeof mend, "see whether pathwaysd is stopped on host %s, or the network between is cut",
                               seen->host->row.name);
                link.since_us = listed_us(chain, seen->heard_us);
        } else if (!strcmp(seen->state, "away")) {
                pw_text_format(waits, sizeof waits, "it to come back: it was given up");
                pw_text_format(mend, sizeof mend, "start pathwaysd on host %s; what only it had is lost", seen->host->row.name);
        } else {
                pw_text_format(waits, sizeof waits, "its link, which is %s: it is called, and given up in %s",
                               !strcmp(seen->state, "cut") ? "cut" : "not there yet", left);
        }
        pw_chain_link(chain, &link);
}

/* `remedy`: where the link is up. */
static void why_link(struct pw_chain *chain, uint32_t number, const char *remedy)
{
        struct pw_host_seen seen;
        char what[100];

        if (pw_chain_full(chain))
                return;
        host_text(chain, number, what);
        if (pw_peers_see(chain->lister->daemon, number, &seen))
                tell_link(chain, &seen, what, remedy);
        else
                pw_chain_link(chain, &(struct pw_cause_link){ what, "metadata to tell of it: it is not known here", 0,
                                                              "`pathways hosts` has those that are known, `pathways status` what "
                                                              "keeps metadata" });
}

/* --- the bytes ---------------------------------------------------------------------------------------------------------------- */

/* "12 MiB of 64 MiB are here, 220 MiB/s, the last of them came 3 ms ago" */
static void progress_text(const struct pw_borrowing_seen *seen, char *text, size_t text_bytes)
{
        uint64_t now_us = pw_boot_us(), took_us = pw_max_u64(1, now_us - pw_min_u64(now_us, seen->pull.began_us));
        char here[24], all[24], rate[16], ago[16];

        pw_size_format_two(seen->pull.here_bytes, seen->bytes, here, all);
        pw_size_format((uint64_t)((double)seen->pull.here_bytes * 1e6 / (double)took_us), rate);
        pw_duration_format(now_us - pw_min_u64(now_us, seen->pull.came_us), ago);
        if (seen->pull.here_bytes)
                pw_text_format(text, text_bytes, "%s of %s are here, %s/s, the last of them came %s ago", here, all, rate, ago);
        else
                pw_text_format(text, text_bytes, "none of %s is here yet", all);
}

static void why_pull(struct pw_chain *chain, const struct pw_borrowing_seen *seen, const char *what)
{
        char host[100], progress[120], waits[PW_WHY_BYTES];
        uint32_t number = seen->pull.source ? seen->pull.source : seen->lender;

        host_text(chain, number, host);
        progress_text(seen, progress, sizeof progress);
        if (seen->pull.source)
                pw_text_format(waits, sizeof waits, "%s, which sends them: %s", host, progress);
        else
                pw_text_format(waits, sizeof waits, "%s to name a host that sends them: %s", host, progress);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, listed_us(chain, seen->pull.began_us), "" });
        why_link(chain, number, "wait; `pathways hosts` shows how much comes from it");
}

static void why_bytes(struct pw_chain *chain, const struct pw_borrowing_seen *seen, const char *id)
{
        char what[100], host[100], waits[PW_WHY_BYTES], size[16];

        pw_text_format(what, sizeof what, "the bytes of object %s", id);
        pw_size_format(seen->bytes, size);
        if (seen->room_token && seen->tenant) {
                pw_text_format(waits, sizeof waits, "room of %s in host memory here", size);
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
                pw_why_room(chain, seen->tenant, seen->room_token);
        } else if (seen->pulls) {
                why_pull(chain, seen, what);
        } else {
                pw_text_format(waits, sizeof waits, "somebody here to read them: they are %s, on %s", size,
                               host_text(chain, seen->lender, host));
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "nothing: pw_get(), or a run, has them pulled" });
        }
}

/* --- an object ---------------------------------------------------------------------------------------------------------------- */

static void why_held(struct pw_chain *chain, const struct pw_borrowing_seen *seen, struct pw_id id, const char *what)
{
        char host[100], text[PW_ID_TEXT_BYTES], waits[PW_WHY_BYTES], remedy[PW_WHY_BYTES];
        bool opens = seen->state == PW_PROXY_OPENING;

        host_text(chain, seen->lender, host);
        pw_text_format(waits, sizeof waits, opens ? "%s to hold it for this one" :
                       "%s, which holds it for this one: it is not decided there", host);
        pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
        if (opens)
                pw_text_format(remedy, sizeof remedy, "`pathways why h%" PRIu32 "` on %s", seen->lender, host);
        else
                pw_text_format(remedy, sizeof remedy, "`pathways why %s` on %s", pw_id_format(id, text), host);
        why_link(chain, seen->lender, remedy);
}

void pw_why_foreign(struct pw_chain *chain, const char *tenant, struct pw_id id)
{
        struct pw_borrowing_seen seen;
        char what[100], text[PW_ID_TEXT_BYTES], waits[PW_WHY_BYTES], host[100];

        pw_text_format(what, sizeof what, "object %s", pw_id_format(id, text));
        if (!pw_borrowing_see(chain->lister->daemon, tenant, id, &seen)) {
                pw_chain_link(chain, &(struct pw_cause_link){ what, "nothing: this host has let go of it", 0, "open it again" });
        } else if (seen.state == PW_PROXY_SEARCHING) {
                pw_text_format(waits, sizeof waits, "the hosts that are there to say who has it: its home, %s, is lost",
                               host_text(chain, pw_id_host(id), host));
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0, "" });
                why_link(chain, pw_id_host(id), "wait: it is back, and is asked");
        } else if (seen.state == PW_PROXY_OPENING || (seen.state == PW_PROXY_PENDING && !seen.asks_slot && !seen.room_token)) {
                why_held(chain, &seen, id, what);
        } else if (seen.asks_slot) {
                pw_chain_link(chain, &(struct pw_cause_link){ what, "a slot for it in host memory here", 0,
                                                              "`pathways memory` shows who has what there is" });
        } else {
                why_bytes(chain, &seen, text);
        }
}

/* --- who waits ---------------------------------------------------------------------------------------------------------------- */

void pw_why_foreign_wait(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        bool opens = wait->kind == PW_WAIT_KIND_OPENING;
        struct pw_id id = opens ? wait->id : pw_object_id(daemon->store, wait->object);
        uint64_t now_us = chain->lister->now_us;
        char waits[PW_WHY_BYTES], text[PW_ID_TEXT_BYTES], left[16], limit[40] = "";

        if (wait->until_us < UINT64_MAX)
                pw_text_format(limit, sizeof limit, ", and gives up in %s",
                               pw_duration_format(wait->until_us - pw_min_u64(wait->until_us, now_us), left));
        pw_text_format(waits, sizeof waits, opens ? "object %s to be opened%s" : "the bytes of object %s%s", pw_id_format(id, text),
                       limit);
        pw_chain_link(chain, &(struct pw_cause_link){ wait->session->client, waits, wait->since_us, "" });
        pw_why_foreign(chain, wait->session->tenant->name, id);
}

void pw_why_naming(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        uint32_t home = pw_id_host(wait->id);
        char waits[PW_WHY_BYTES], text[PW_ID_TEXT_BYTES], host[100], remedy[200];

        host_text(chain, home, host);
        pw_text_format(waits, sizeof waits, "%s to bind or remove a name of object %s", host, pw_id_format(wait->id, text));
        pw_chain_link(chain, &(struct pw_cause_link){ wait->session->client, waits, wait->since_us, "" });
        pw_text_format(remedy, sizeof remedy, "see `pathways status` on %s: it asks Redis", host);
        why_link(chain, home, remedy);
}

struct openers { struct pw_chain *chain; struct pw_id id; uint32_t found; };

static void each_opener(void *context, const struct pw_wait_row *wait)
{
        struct openers *openers = context;

        if (wait->kind != PW_WAIT_KIND_OPENING || !pw_id_equal(wait->id, openers->id) ||
            !pw_list_visible(openers->chain->lister, wait->session->tenant->name))
                return;
        openers->found++;
        openers->chain->depth = 0;
        if (!pw_chain_full(openers->chain))
                pw_why_foreign_wait(openers->chain, wait);
}

bool pw_why_opened(struct pw_chain *chain, const char *text)
{
        struct openers openers = { .chain = chain };

        if (pw_id_parse(text, &openers.id, NULL) != PW_OK)
                return false;
        pw_borrowing_each_wait(chain->lister->daemon, NULL, each_opener, &openers);
        return openers.found;
}

/* --- a host ------------------------------------------------------------------------------------------------------------------- */

bool pw_why_other_host(struct pw_chain *chain, uint32_t number)
{
        struct pw_host_seen seen;
        char remedy[100];

        if (!pw_peers_see(chain->lister->daemon, number, &seen))
                return false;
        pw_text_format(remedy, sizeof remedy, "`pathways why h%" PRIu32 "` on host %s", number, seen.host->row.name);
        why_link(chain, number, remedy);
        return true;
}

bool pw_why_host_called(const struct pw_chain *chain, const char *name, uint32_t *ret_number)
{
        const struct pw_daemon *daemon = chain->lister->daemon;
        bool is_here = *name && !strcmp(name, daemon->carried.host_name);

        *ret_number = is_here ? daemon->host : pw_peers_find(daemon, name);
        return is_here || *ret_number;
}
