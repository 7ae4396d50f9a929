/* The host table: what the server has of it, what it may have lost, what the listener does not know. */
#include "daemon/meta/redis/redis_private.h"

#include <stdio.h>

static struct pw_redis_row *add_row(struct pw_redis *redis, uint32_t number)
{
        struct pw_redis_row *row = calloc(1, sizeof *row);

        if (!row)
                return NULL;
        pw_list_init(&row->untold);
        row->row.number = number;
        if (pw_table_put(&redis->rows, number, row))
                return row;
        free(row);
        return NULL;
}

/* An older epoch than the one that is known says nothing. NULL: that, or no memory, which is found again by a later reading. */
static struct pw_redis_row *put_row(struct pw_redis *redis, const struct pw_host_row *said)
{
        struct pw_redis_row *row = pw_table_get(&redis->rows, said->number);

        if (!row && !(row = add_row(redis, said->number)))
                return NULL;
        if (*row->row.name && said->epoch < row->row.epoch)
                return NULL;
        if (said->epoch == row->row.epoch && !strcmp(said->name, row->row.name) && !strcmp(said->address, row->row.address) &&
            said->successor == row->row.successor)
                return row;
        row->row = *said;
        pw_list_remove(&row->untold);
        if (said->number != redis->state.number)
                pw_list_append(&redis->untold, &row->untold);
        redis->save = true;
        return row;
}

void pw_redis_table_known(void *context, const struct pw_host_row *row)
{
        put_row(context, row);
}

const struct pw_host_row *pw_redis_table_next(void *context, uint32_t *cursor)
{
        const struct pw_redis *redis = context;
        const struct pw_redis_row *row = pw_table_next(&redis->rows, cursor);

        return row ? &row->row : NULL;
}

/* --- putting back ------------------------------------------------------------------------------------------------------------ */

char *pw_redis_where_format(const char *address, uint32_t successor, char text[PW_REDIS_WHERE_BYTES])
{
        int used = snprintf(text, PW_REDIS_WHERE_BYTES, "%s", address);

        if (successor)
                snprintf(text + used, PW_REDIS_WHERE_BYTES - (size_t)used, " %u", successor);
        return text;
}

static void on_said(void *context, const struct pw_redis_said *said) { (void)pw_redis_hear(context, said); }

void pw_redis_table_say_own(struct pw_redis *redis)
{
        char epoch[12], rest[PW_HOST_NAME_MAX + 1 + PW_REDIS_WHERE_BYTES], where[PW_REDIS_WHERE_BYTES];
        struct pw_redis_args args;
        enum pw_status status;

        pw_redis_args_begin(redis, &args);
        snprintf(epoch, sizeof epoch, "%u", redis->host.epoch);
        snprintf(rest, sizeof rest, "%s %s", redis->name, pw_redis_where_format(redis->own_address, redis->successor, where));
        pw_redis_arg(&args, redis->number);
        pw_redis_arg(&args, epoch);
        pw_redis_arg(&args, rest);
        status = pw_redis_wire_run(redis->wire, PW_REDIS_RESTORE, &args, on_said, redis);
        if (status != PW_OK)
                pw_redis_stuck(redis, status);
}

static void on_restored(void *context, const struct pw_redis_said *said)
{
        struct pw_redis *redis = context;

        if (pw_redis_hear(redis, said) == PW_REDIS_OK && redis->member.owed)
                redis->member.owed--;
}

struct part {
        struct pw_redis_args args;
        char texts[PW_REDIS_PART][3][PW_HOST_NAME_MAX + 1 + PW_REDIS_WHERE_BYTES];
        uint32_t count;
};

static void send_part(struct pw_redis *redis, struct part *part)
{
        enum pw_status status;

        if (!part->count)
                return;
        status = pw_redis_wire_run(redis->wire, PW_REDIS_RESTORE, &part->args, on_restored, redis);
        if (status == PW_OK)
                redis->member.owed++;
        else
                pw_redis_stuck(redis, status);
        part->count = 0;
}

static void add_to_part(struct pw_redis *redis, struct part *part, const struct pw_host_row *row)
{
        char (*texts)[PW_HOST_NAME_MAX + 1 + PW_REDIS_WHERE_BYTES] = part->texts[part->count];
        char where[PW_REDIS_WHERE_BYTES];

        if (!part->count)
                pw_redis_args_begin(redis, &part->args);
        snprintf(texts[0], sizeof texts[0], "%u", row->number);
        snprintf(texts[1], sizeof texts[1], "%u", row->epoch);
        snprintf(texts[2], sizeof texts[2], "%s %s", row->name, pw_redis_where_format(row->address, row->successor, where));
        for (uint32_t i = 0; i < 3; i++)
                pw_redis_arg(&part->args, texts[i]);
        if (++part->count == PW_REDIS_PART)
                send_part(redis, part);
}

/* What the server does not have by this connection. */
static void restore_rows(struct pw_redis *redis)
{
        struct part *part = malloc(sizeof *part);
        const struct pw_redis_row *row;

        if (!part) {
                pw_redis_stuck(redis, PW_NO_MEMORY);
                return;
        }
        part->count = 0;
        for (uint32_t i = 0; (row = pw_table_next(&redis->rows, &i));)
                if (row->seen != redis->serial && *row->row.name && row->row.number != redis->state.number)
                        add_to_part(redis, part, &row->row);
        send_part(redis, part);
        free(part);
}

/* --- reading ----------------------------------------------------------------------------------------------------------------- */

static void read_row(struct pw_redis *redis, const char *number, const char *text)
{
        struct pw_host_row said = { .number = (uint32_t)strtoul(number, NULL, 10) };
        struct pw_redis_row *row;

        if (sscanf(text, "%u %64s %255s %u", &said.epoch, said.name, said.address, &said.successor) < 3 || !said.number ||
            said.number > 65534 || said.successor > 65534)
                return; /* somebody else's hand was there */
        row = put_row(redis, &said);
        if (row)
                row->seen = redis->serial;
}

static void on_rows(void *context, const struct pw_redis_said *said)
{
        struct pw_redis *redis = context;
        bool more;

        redis->reading = false;
        if (pw_redis_hear(redis, said) != PW_REDIS_OK || said->count < 2)
                return;
        more = said->count == 2 + 2 * PW_REDIS_PART;
        for (uint32_t i = 2; i + 1 < said->count; i += 2)
                read_row(redis, said->words[i], said->words[i + 1]);
        redis->changes = strtoull(said->words[1], NULL, 10);
        if (redis->member.state == PW_REDIS_RETURNING)
                redis->member.owed--;
        if (more) {
                pw_redis_table_read(redis);
        } else if (redis->member.state == PW_REDIS_RETURNING) {
                restore_rows(redis);
                pw_redis_bindings_put(redis);
        }
}

void pw_redis_table_read(struct pw_redis *redis)
{
        struct pw_redis_args args;
        char since[24], part[12];
        enum pw_status status;

        if (redis->reading)
                return;
        pw_redis_args_begin(redis, &args);
        snprintf(since, sizeof since, "%llu", (unsigned long long)redis->changes);
        snprintf(part, sizeof part, "%u", PW_REDIS_PART);
        pw_redis_arg(&args, since);
        pw_redis_arg(&args, part);
        status = pw_redis_wire_run(redis->wire, PW_REDIS_HOSTS, &args, on_rows, redis);
        if (status != PW_OK) {
                pw_redis_stuck(redis, status);
                return;
        }
        redis->reading = true;
        if (redis->member.state == PW_REDIS_RETURNING)
                redis->member.owed++;
}

void pw_redis_table_done(struct pw_redis *redis)
{
        struct pw_redis_row *row;

        for (uint32_t i = 0; (row = pw_table_next(&redis->rows, &i));)
                free(row);
        pw_table_done(&redis->rows);
}
