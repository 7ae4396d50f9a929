/* What the listener is told: events, then answers, then that metadata is back. */
#include "daemon/meta/redis/redis_private.h"

#include <stdio.h>

void pw_redis_tell(struct pw_redis *redis, enum pw_meta_event_kind kind, const struct pw_error *why)
{
        struct pw_redis_told *told = &redis->fixed[kind];

        pw_list_remove(&told->link);
        if (kind == PW_META_AWAY) /* what it was told last was that metadata is away, or it is now */
                pw_list_remove(&redis->fixed[PW_META_BACK].link);
        snprintf(told->text, sizeof told->text, "%s", why ? why->text : "");
        told->event = (struct pw_meta_event){ .kind = kind, .host = redis->host, .status = why ? why->status : PW_OK,
                                              .text = told->text };
        pw_list_append(&redis->told, &told->link);
}

void pw_redis_tell_changed(struct pw_redis *redis, const char *tenant_and_name, struct pw_id id, uint64_t version)
{
        size_t tenant_bytes = strlen(tenant_and_name) + 1, bytes = tenant_bytes + strlen(tenant_and_name + tenant_bytes) + 1;
        struct pw_redis_told *told = calloc(1, sizeof *told);
        char *names = malloc(bytes);

        if (!told || !names) { /* it is for the log */
                free(told);
                free(names);
                return;
        }
        memcpy(names, tenant_and_name, bytes);
        told->names = names;
        told->event = (struct pw_meta_event){ .kind = PW_META_CHANGED, .host = redis->host, .tenant = names,
                                              .name = names + tenant_bytes, .id = id, .version = version, .text = told->text };
        pw_list_append(&redis->told, &told->link);
}

static void tell(struct pw_redis *redis, const struct pw_meta_event *event)
{
        redis->base.listener->event(redis->base.context, event);
}

static bool tell_events(struct pw_redis *redis)
{
        struct pw_redis_told *told;
        bool any = false;

        pw_list_each(&redis->told, told, struct pw_redis_told, link) {
                if (told->event.kind == PW_META_BACK)
                        continue;
                pw_list_remove(&told->link);
                tell(redis, &told->event);
                any = true;
                if (!told->names)
                        continue;
                free(told->names);
                free(told);
        }
        return any;
}

static bool tell_rows(struct pw_redis *redis)
{
        bool any = !pw_list_empty(&redis->untold);
        struct pw_redis_row *row;

        pw_list_each(&redis->untold, row, struct pw_redis_row, untold) {
                pw_list_remove(&row->untold);
                tell(redis, &(struct pw_meta_event){ .kind = PW_META_HOST, .host = redis->host, .row = &row->row, .text = "" });
        }
        return any;
}

/* Those that are there now: what is asked meanwhile is answered in the next turn. */
static bool tell_answers(struct pw_redis *redis)
{
        bool any = !pw_list_empty(&redis->answered);
        struct pw_redis_ask *ask;
        struct pw_list now;

        pw_list_init(&now);
        pw_list_splice(&now, &redis->answered);
        pw_list_each(&now, ask, struct pw_redis_ask, link) {
                pw_list_remove(&ask->link);
                redis->base.listener->answered(redis->base.context, &ask->answer);
                free(ask);
        }
        return any;
}

bool pw_redis_tell_all(struct pw_redis *redis)
{
        struct pw_redis_told *back = &redis->fixed[PW_META_BACK];
        bool any = tell_events(redis);

        any |= tell_rows(redis);
        any |= tell_answers(redis);
        if (!pw_list_empty(&back->link)) {
                pw_list_remove(&back->link);
                tell(redis, &back->event);
                any = true;
        }
        return any;
}

bool pw_redis_has_told(const struct pw_redis *redis)
{
        return !pw_list_empty(&redis->told) || !pw_list_empty(&redis->untold) || !pw_list_empty(&redis->answered);
}

void pw_redis_telling_done(struct pw_redis *redis)
{
        struct pw_redis_told *told;

        tell_answers(redis);
        pw_list_each(&redis->told, told, struct pw_redis_told, link) {
                pw_list_remove(&told->link);
                if (!told->names)
                        continue;
                free(told->names);
                free(told);
        }
}
