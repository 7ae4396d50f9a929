/* One connection after the other, by hiredis. */
#include "daemon/meta/redis/wire.h"

#include "base/list.h"
#include "daemon/loop.h"
#include "daemon/meta/redis/address.h"

#include <fcntl.h>
#include <hiredis/adapters/libevent.h>
#include <stdio.h>

#define DIGEST_BYTES 41u

/* A question, from when it is asked until hiredis has called for it. */
struct call {
        struct pw_list link;  /* of the wire's, until it is answered */
        struct pw_redis_wire *wire; /* NULL: it was answered */
        pw_redis_done *done;
        void *context;
        uint64_t asked_us;
        int script;           /* -1: a command */
        uint32_t count;
        char texts[];         /* its arguments, one behind the other */
};

struct pw_redis_wire {
        struct pw_redis_wire_params params;
        struct pw_redis_address address;
        redisAsyncContext *connection; /* NULL: there is none */
        bool unwritten;       /* something was asked since the last pw_redis_wire_write() */
        struct pw_list calls;
        char digests[PW_REDIS_SCRIPTS][DIGEST_BYTES]; /* "": not known yet */
};

static void on_answer(redisAsyncContext *connection, void *reply, void *context);

/* --- answers ----------------------------------------------------------------------------------------------------------------- */

#define NUMBER_BYTES 24u

struct spoken {
        struct pw_redis_said said;
        const char **words;
        char (*numbers)[NUMBER_BYTES];
};

static const char *text_of(const redisReply *reply, char number[NUMBER_BYTES])
{
        if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS || reply->type == REDIS_REPLY_ERROR)
                return reply->str;
        if (reply->type != REDIS_REPLY_INTEGER)
                return "";
        snprintf(number, NUMBER_BYTES, "%lld", reply->integer);
        return number;
}

/* False: out of memory. */
static bool speak(const redisReply *reply, struct spoken *ret_spoken)
{
        bool is_array = reply->type == REDIS_REPLY_ARRAY;
        size_t count = is_array ? reply->elements : reply->type != REDIS_REPLY_NIL;
        struct spoken *spoken = ret_spoken;

        *spoken = (struct spoken){ .said = { .error = reply->type == REDIS_REPLY_ERROR ? reply->str : NULL } };
        if (reply->type == REDIS_REPLY_ERROR || !count)
                return true;
        spoken->words = calloc(count, sizeof *spoken->words);
        spoken->numbers = calloc(count, sizeof *spoken->numbers);
        if (!spoken->words || !spoken->numbers)
                return false;
        for (size_t i = 0; i < count; i++)
                spoken->words[i] = text_of(is_array ? reply->element[i] : reply, spoken->numbers[i]);
        spoken->said.count = (uint32_t)count;
        spoken->said.words = spoken->words;
        return true;
}

static void finish(struct call *call, const struct pw_redis_said *said)
{
        pw_list_remove(&call->link);
        call->wire = NULL;
        if (call->done)
                call->done(call->context, said);
}

/* --- questions --------------------------------------------------------------------------------------------------------------- */

static struct call *new_call(struct pw_redis_wire *wire, const struct pw_redis_args *args, pw_redis_done *done, void *context)
{
        size_t bytes = 0;
        struct call *call;
        char *at;

        for (uint32_t i = 0; i < args->count; i++)
                bytes += strlen(args->items[i]) + 1;
        call = malloc(sizeof *call + bytes);
        if (!call)
                return NULL;
        *call = (struct call){ .wire = wire, .done = done, .context = context, .asked_us = pw_now_us(), .script = -1,
                               .count = args->count };
        pw_list_init(&call->link);
        at = call->texts;
        for (uint32_t i = 0; i < args->count; i++)
                at = stpcpy(at, args->items[i]) + 1;
        return call;
}

/* A script by its digest, if that is known and `by_text` does not say otherwise. */
static bool send_call(struct pw_redis_wire *wire, struct call *call, bool by_text)
{
        const char *argv[PW_REDIS_ARGS_MAX + 3];
        const char *at = call->texts;
        int argc = 0;

        if (call->script >= 0) {
                by_text |= !*wire->digests[call->script];
                argv[argc++] = by_text ? "EVAL" : "EVALSHA";
                argv[argc++] = by_text ? pw_redis_script_text((enum pw_redis_script)call->script) : wire->digests[call->script];
                argv[argc++] = "2";
        }
        for (uint32_t i = 0; i < call->count; i++, at += strlen(at) + 1)
                argv[argc++] = at;
        return redisAsyncCommandArgv(wire->connection, on_answer, call, argc, argv, NULL) == REDIS_OK;
}

/* hiredis calls once for each, also when it frees the connection; the call is freed here and nowhere else. */
static void on_answer(redisAsyncContext *connection, void *reply, void *context)
{
        static const struct pw_redis_said cut = { .cut = true };
        struct call *call = context;
        struct pw_redis_wire *wire = call->wire;
        struct spoken spoken = { .words = NULL };

        (void)connection;
        if (wire && reply) {
                bool read = speak(reply, &spoken);

                if (call->script >= 0 && read && pw_redis_word(&spoken.said) == PW_REDIS_NO_SCRIPT && send_call(wire, call, true))
                        return;
                finish(call, read ? &spoken.said : &cut);
                free(spoken.words);
                free(spoken.numbers);
        } else if (wire) {
                finish(call, &cut);
        }
        free(call);
}

static enum pw_status ask(struct pw_redis_wire *wire, struct call *call)
{
        if (!call)
                return PW_NO_MEMORY;
        if (!wire->connection || !send_call(wire, call, false)) {
                free(call);
                return PW_NOT_READY;
        }
        pw_list_append(&wire->calls, &call->link);
        wire->unwritten = true;
        return PW_OK;
}

enum pw_status pw_redis_wire_ask(struct pw_redis_wire *wire, const struct pw_redis_args *args, pw_redis_done *done, void *context)
{
        return ask(wire, args->over ? NULL : new_call(wire, args, done, context));
}

enum pw_status pw_redis_wire_run(struct pw_redis_wire *wire, enum pw_redis_script script, const struct pw_redis_args *args,
                                 pw_redis_done *done, void *context)
{
        struct call *call = args->over ? NULL : new_call(wire, args, done, context);

        if (call)
                call->script = (int)script;
        return ask(wire, call);
}

/* hiredis itself waits until the loop finds that its socket can be written. */
void pw_redis_wire_write(struct pw_redis_wire *wire)
{
        if (wire->unwritten && wire->connection && wire->connection->c.flags & REDIS_CONNECTED)
                redisAsyncHandleWrite(wire->connection);
        wire->unwritten = false;
}

uint64_t pw_redis_wire_since_us(const struct pw_redis_wire *wire)
{
        return pw_list_empty(&wire->calls) ? UINT64_MAX : pw_list_first(&wire->calls, struct call, link)->asked_us;
}

/* --- connections ------------------------------------------------------------------------------------------------------------- */

struct loading { struct pw_redis_wire *wire; enum pw_redis_script script; };

static void on_loaded(void *context, const struct pw_redis_said *said)
{
        struct loading *loading = context;

        if (said->count == 1 && strlen(said->words[0]) == DIGEST_BYTES - 1)
                memcpy(loading->wire->digests[loading->script], said->words[0], DIGEST_BYTES);
        free(loading);
}

/* Where this does not work, scripts go by their text. */
static void learn_digests(struct pw_redis_wire *wire)
{
        for (uint32_t i = 0; i < PW_REDIS_SCRIPTS; i++) {
                struct pw_redis_args args = { 3, false, { "SCRIPT", "LOAD", pw_redis_script_text(i) } };
                struct loading *loading = *wire->digests[i] ? NULL : malloc(sizeof *loading);

                if (!loading)
                        continue;
                *loading = (struct loading){ wire, i };
                if (pw_redis_wire_ask(wire, &args, on_loaded, loading) != PW_OK)
                        free(loading);
        }
}

static void end_calls(struct pw_redis_wire *wire)
{
        static const struct pw_redis_said cut = { .cut = true };

        while (!pw_list_empty(&wire->calls))
                finish(pw_list_first(&wire->calls, struct call, link), &cut);
}

/* The connection is ending by itself: hiredis frees it. */
static void lose(const redisAsyncContext *connection)
{
        struct pw_redis_wire *wire = connection->data;
        char why[160];

        if (!wire)
                return;
        snprintf(why, sizeof why, "%s", connection->errstr && *connection->errstr ? connection->errstr : "closed");
        wire->connection->data = NULL;
        wire->connection = NULL;
        end_calls(wire);
        wire->params.down(wire->params.context, why);
}

static void on_connect(const redisAsyncContext *connection, int status)
{
        struct pw_redis_wire *wire = connection->data;

        if (status != REDIS_OK) {
                lose(connection);
                return;
        }
        if (!wire)
                return;
        wire->params.up(wire->params.context);
        learn_digests(wire);
}

static void on_disconnect(const redisAsyncContext *connection, int status)
{
        (void)status;
        lose(connection);
}

enum pw_status pw_redis_wire_call(struct pw_redis_wire *wire, struct pw_error *ret_err)
{
        const struct pw_redis_address *address = &wire->address;
        redisAsyncContext *connection = address->is_path ? redisAsyncConnectUnix(address->host)
                                                         : redisAsyncConnect(address->host, address->port);

        if (!connection)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a connection to Redis");
        if (connection->err) {
                pw_error_set(ret_err, PW_SYSTEM, "%s", connection->errstr);
                redisAsyncFree(connection);
                return PW_SYSTEM;
        }
        fcntl(connection->c.fd, F_SETFD, FD_CLOEXEC);
        connection->data = wire;
        if (redisLibeventAttach(connection, wire->params.loop) != REDIS_OK) {
                connection->data = NULL;
                redisAsyncFree(connection);
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a connection to Redis");
        }
        redisAsyncSetConnectCallback(connection, on_connect);
        redisAsyncSetDisconnectCallback(connection, on_disconnect);
        wire->connection = connection;
        return PW_OK;
}

void pw_redis_wire_cut(struct pw_redis_wire *wire)
{
        redisAsyncContext *connection = wire->connection;

        if (!connection)
                return;
        connection->data = NULL;
        wire->connection = NULL;
        end_calls(wire);
        redisAsyncFree(connection);
}

enum pw_status pw_redis_wire_new(const struct pw_redis_wire_params *params, struct pw_redis_wire **ret_wire,
                                 struct pw_error *ret_err)
{
        struct pw_redis_address address;
        enum pw_status status = pw_redis_address_parse(params->address, &address, ret_err);
        struct pw_redis_wire *wire;

        if (status != PW_OK)
                return status;
        if (!address.is_loopback && !params->plaintext)
                return pw_error_set(ret_err, PW_INVALID,
                                    "metadata %s: names and passwords would go to another host in plain text; use a tunnel, or "
                                    "allow it with redis-plaintext = yes",
                                    params->address);
        wire = calloc(1, sizeof *wire);
        if (!wire)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for metadata");
        wire->params = *params;
        wire->address = address;
        pw_list_init(&wire->calls);
        *ret_wire = wire;
        return PW_OK;
}

void pw_redis_wire_free(struct pw_redis_wire *wire)
{
        if (!wire)
                return;
        pw_redis_wire_cut(wire);
        free(wire);
}
