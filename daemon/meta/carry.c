/* Between the store and metadata. */
#include "daemon/meta/carry.h"

#include "daemon/meta/meta.h"
#include "store/name.h"

#include <time.h>

#define ASKS_PART 1024u   /* in a turn */
#define STUCK_US 10000u   /* until a question without memory is asked again */

static void answered(void *context, const struct pw_name_answer *answer)
{
        const struct pw_daemon *daemon = context;

        pw_store_name_answered(daemon->store, answer, pw_now_us());
}

static void event(void *context, const struct pw_meta_event *event)
{
        const struct pw_daemon *daemon = context;
        char id[PW_ID_TEXT_BYTES];

        switch (event->kind) {
        case PW_META_JOINED:
                pw_log(&daemon->log, PW_LOG_INFO, "joined host=h%u epoch=%x", event->host.host, event->host.epoch);
                break;
        case PW_META_AWAY:
                pw_log(&daemon->log, PW_LOG_WARNING, "metadata is away kind=%s why=\"%s\"", daemon->meta->kind->name, event->text);
                break;
        case PW_META_BACK:
                pw_log(&daemon->log, PW_LOG_INFO, "metadata is back kind=%s", daemon->meta->kind->name);
                pw_store_names_back(daemon->store);
                break;
        case PW_META_CHANGED:
                pw_log(&daemon->log, PW_LOG_DEBUG, "name changed tenant=%s name=%s id=%s version=%llu", event->tenant, event->name,
                       pw_id_format(event->id, id), (unsigned long long)event->version);
                break;
        case PW_META_HOST:
                pw_log(&daemon->log, PW_LOG_INFO, "host known host=h%u epoch=%x name=%s address=%s", event->row->number,
                       event->row->epoch, event->row->name, event->row->address);
                break;
        case PW_META_WAITS:
        case PW_META_TROUBLE:
                pw_log(&daemon->log, PW_LOG_WARNING, "metadata kind=%s: %s", daemon->meta->kind->name, event->text);
                break;
        case PW_META_REFUSED:
                pw_log(&daemon->log, PW_LOG_ERROR, "metadata refuses this host kind=%s: %s", daemon->meta->kind->name, event->text);
                break;
        }
}

enum pw_status pw_meta_carry_open(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        static const struct pw_meta_listener listener = { answered, event };
        struct pw_meta_params params = { .state_dir = daemon->state_dir, .now_s = (uint32_t)time(NULL),
                                         .secret = daemon->hash_secret, .listener = &listener, .context = daemon };
        struct pw_meta_host host;
        enum pw_status status = pw_meta_kind("embedded")->open(&params, &daemon->meta, &host, ret_err);

        if (status != PW_OK)
                return status;
        daemon->host = host.host;
        daemon->epoch = host.epoch;
        return PW_OK;
}

bool pw_meta_carry(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_name_ask ask;
        uint32_t count = 0;

        if (now_us < daemon->meta_stuck_us)
                return pw_meta_turn(daemon->meta);
        daemon->meta_stuck_us = 0;
        for (; count < ASKS_PART && pw_store_name_next(daemon->store, &ask); count++) {
                if (pw_meta_submit(daemon->meta, &ask) != PW_OK) {
                        daemon->meta_stuck_us = now_us + STUCK_US;
                        break;
                }
                pw_store_name_asked(daemon->store, ask.token);
        }
        return pw_meta_turn(daemon->meta) || count;
}

uint64_t pw_meta_carry_next_us(const struct pw_daemon *daemon)
{
        struct pw_name_ask ask;
        uint64_t next_us = pw_meta_next_us(daemon->meta);

        return pw_store_name_next(daemon->store, &ask) ? pw_min_u64(next_us, daemon->meta_stuck_us) : next_us;
}
