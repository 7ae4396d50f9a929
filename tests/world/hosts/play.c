/* Hosts and what is around them: messages on links, boards that take every order, devices that do what they are given. */
#include "tests/world/hosts/play.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct play *play;

void play_failed(const char *where, const char *what)
{
        print_error("PW_WORLD_SEED=%lu: %s: %s\n", (unsigned long)play->seed, where, what);
        fail();
}

/* xorshift64* (Vigna, 2014) */
uint32_t play_below(uint32_t limit)
{
        play->random ^= play->random >> 12;
        play->random ^= play->random << 25;
        play->random ^= play->random >> 27;
        return (uint32_t)((play->random * UINT64_C(2685821657736338717)) >> 33) % limit;
}

/* --- messages ----------------------------------------------------------------------------------------------------------------- */

static void send(uint32_t from, const struct pw_action *action)
{
        uint32_t to = pw_core_destination(&action->core) - PLAY_FIRST;
        struct play_link *link = &play->links[from][to];
        struct play_frame frame = { .length = action->frame.bytes ? action->frame.length : pw_core_bytes(NULL),
                                    .from = PLAY_FIRST + from };

        if (link->cut)
                return;
        frame.bytes = malloc(frame.length);
        assert_non_null(frame.bytes);
        if (action->frame.bytes)
                memcpy(frame.bytes, action->frame.bytes, frame.length);
        else
                pw_core_encode(&action->core, NULL, frame.bytes);
        if (getenv("PW_WORLD_TRACE"))
                fprintf(stderr, "h%u to h%u: message %d of run %u.%lu, about %u, serial %lu\n", PLAY_FIRST + from, PLAY_FIRST + to,
                        (int)action->core.kind, action->core.run.coordinator, (unsigned long)action->core.run.number,
                        action->core.about, (unsigned long)action->core.serial);
        play->gave_back += action->core.kind == PW_CORE_GIVE_BACK;
        play->refused += action->core.kind == PW_CORE_REFUSED && action->core.refusal == PW_REFUSED_NOW;
        play->deferred += action->core.kind == PW_CORE_DEFERRED;
        assert_true(pw_grow((void **)&link->frames, &link->capacity, link->count + 1, sizeof *link->frames));
        link->frames[link->count++] = frame;
}

/* One that is good is written on every host. */
static void decided(const struct pw_action *action)
{
        const struct pw_result_live *result = pw_result_live(action->result);

        for (uint32_t at = 0; action->status == PW_OK && at < PLAY_HOSTS && !play_is_hostile(result->maker.coordinator); at++) {
                const struct pw_host_result *here = play_is_hostile(PLAY_FIRST + at) ? NULL :
                        pw_host_result_find(play->hosts[at].scheduler, &result->maker, result->result.index, result->slot);
                if (here && here->left)
                        play_failed("a result is decided", "and is to be written yet");
        }
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].run == action->run)
                        play->runs[i].decided++;
}

static void ended(const struct pw_run *run)
{
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].run == run) {
                        if (play->runs[i].decided != run->result_count && !play_is_hostile(PLAY_FIRST + play->runs[i].coordinator))
                                play_failed("a run ended", "each of its results was not decided once");
                        play->admitted += run->results[0]->status == PW_OK;
                        play->lost += run->results[0]->status == PW_HOST_LOST;
                        play->runs[i].run = NULL;
                        play->open--;
                }
}

static struct play_run *run_of(const struct pw_run_id *id)
{
        for (uint32_t i = 0; i < play->run_count; i++)
                if (play->runs[i].run && play->runs[i].coordinator == id->coordinator - PLAY_FIRST &&
                    play->runs[i].run->number == id->number)
                        return &play->runs[i];
        return NULL;
}

/* The number of a run to boards, and its coordinator's record of it: prepared everywhere. */
static void check_order(struct pw_scheduler *scheduler, const struct pw_order_item *item)
{
        const struct pw_host_run *here = pw_host_find(scheduler, item->run);
        const struct play_run *run;
        const struct pw_live *live;

        if (!here)
                play_failed("order", "a run that is not here");
        run = run_of(&here->id);
        if (!run || play_is_hostile(here->id.coordinator))
                return;
        live = pw_live_of(run->run);
        for (uint32_t host = 0; host < live->host_count; host++)
                if (!play_is_hostile(live->program->hosts[host]) && (live->hosts[host].state < PW_LIVE_HOST_PREPARED ||
                    !(run->prepared >> (live->program->hosts[host] - PLAY_FIRST) & 1)))
                        play_failed("order", "a gang is ordered before every host has prepared its run");
}

static void order(struct play_host *host, const struct pw_message *message)
{
        const struct pw_actions *actions = pw_scheduler_actions(host->scheduler);

        for (uint32_t i = 0; i < message->order_count; i++) {
                const struct pw_order_item *item = &actions->orders[message->first_order + i];
                check_order(host->scheduler, item);
                for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                        host->ordered[d] += item->members >> d & 1;
        }
}

static void found(void *context, const char *where, const char *problem)
{
        (void)context;
        play_failed(where, problem);
}

void play_act(uint32_t at)
{
        struct pw_actions *actions = pw_scheduler_actions(play->hosts[at].scheduler);

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_action action = actions->items[i];
                if (action.kind == PW_ACT_CORE)
                        send(at, &action);
                else if (action.kind == PW_ACT_BOARD && action.message.kind == PW_MSG_ORDER)
                        order(&play->hosts[at], &action.message);
                else if (action.kind == PW_ACT_BOARD)
                        play->cancelled += action.message.kind == PW_MSG_CANCEL;
                else if (action.kind == PW_ACT_RESULT)
                        decided(&action);
                else if (action.kind == PW_ACT_RUN_ENDED)
                        ended(action.run);
        }
        pw_actions_clear(actions);
        pw_scheduler_check(play->hosts[at].scheduler, found, NULL);
}

void play_turn(uint32_t at)
{
        pw_scheduler_turn(play->hosts[at].scheduler, play->now_us);
        play_act(at);
}

/* One board may have no room. */
static enum pw_status prepare(struct pw_scheduler *scheduler, uint32_t from, const struct pw_core_message *message,
                              struct pw_error *ret_err)
{
        struct play_run *run = run_of(&message->run);
        bool refuse = play->refuses && !play_below(16), more = true;
        enum pw_status status = pw_scheduler_may_say(scheduler, from, message, ret_err);

        while (more && status == PW_OK)
                status = pw_scheduler_preparing(scheduler, message, &(struct pw_message){ 0 }, &more, ret_err);
        if (status != PW_OK)
                return status;
        play->prepared++;
        if (run && !refuse)
                run->prepared |= 1u << (scheduler->host - PLAY_FIRST);
        return pw_scheduler_prepared(scheduler, message, refuse ? PW_NO_SPACE : PW_OK, refuse ? "no room" : NULL, play->now_us,
                                     ret_err);
}

enum pw_status play_take(uint32_t to, const struct play_frame *frame, enum pw_core_kind *ret_kind, struct pw_error *ret_err)
{
        struct pw_scheduler *scheduler = play->hosts[to].scheduler;
        struct pw_core_message message;
        struct pw_core_body body;
        enum pw_status status;
        void *space;

        if (pw_core_decode(frame->bytes, frame->length, &message, &body, &space, ret_err) != PW_OK) {
                if (!play_is_hostile(frame->from))
                        play_failed("decode", ret_err->text);
                return PW_PROTOCOL;
        }
        *ret_kind = message.kind;
        status = message.kind == PW_CORE_PREPARE
                         ? prepare(scheduler, frame->from, &message, ret_err)
                         : pw_scheduler_deliver(scheduler, &message, &body, (struct pw_arrival){ frame->from, play->now_us },
                                                ret_err);
        free(space);
        play_act(to);
        return status;
}

bool play_deliver(uint32_t from, uint32_t to)
{
        struct play_link *link = &play->links[from][to];
        struct play_frame frame, *kept = &play->kept[play->arrived % PLAY_KEPT];
        enum pw_core_kind kind;
        enum pw_status status;
        struct pw_error err;

        if (!link->count)
                return false;
        frame = link->frames[0];
        memmove(link->frames, link->frames + 1, --link->count * sizeof *link->frames);
        status = play_take(to, &frame, &kind, &err);
        if (status != PW_OK && status != PW_EXISTS && status != PW_NOT_FOUND && status != PW_CANCELLED &&
            !play_is_hostile(PLAY_FIRST + from) && !play_is_hostile(PLAY_FIRST + to))
                play_failed("a message is refused", err.text);
        play->arrived++;
        free(kept->bytes);
        *kept = frame;
        return true;
}

/* From the other of its two hosts. */
static bool is_given_up(const struct pw_core_message *message)
{
        uint32_t to = pw_core_destination(message), from = message->run.coordinator + message->host - to;

        return play->links[from - PLAY_FIRST][to - PLAY_FIRST].given_up;
}

/* It has arrived before: only what says nothing new may be taken, or what stays true of a result that a host has anew. */
void play_deliver_again(void)
{
        const struct play_frame *frame = &play->kept[play_below(PLAY_KEPT)];
        struct pw_core_message message;
        struct pw_core_body body;
        enum pw_core_kind kind;
        enum pw_status status;
        struct pw_error err;
        void *space;

        if (!frame->bytes)
                return;
        assert_int_equal(pw_core_decode(frame->bytes, frame->length, &message, &body, &space, &err), PW_OK);
        free(space);
        play->again++;
        status = play_take(pw_core_destination(&message) - PLAY_FIRST, frame, &kind, &err);
        if (status == PW_OK && kind != PW_CORE_EXPECT && kind != PW_CORE_NOTICE && kind != PW_CORE_LET_GO &&
            kind != PW_CORE_RELEASE)
                play_failed("a message came twice", "and was taken");
        if (status != PW_NOT_FOUND && is_given_up(&message))
                play_failed("a message of a host that was given up", "was not refused");
}

bool play_step(uint32_t at, uint32_t device)
{
        struct play_host *host = &play->hosts[at];

        if (host->done[device] == host->ordered[device])
                return false;
        assert_true(pw_scheduler_progress(host->scheduler, device, ++host->done[device], play->now_us));
        play_turn(at);
        return true;
}

/* --- their life ------------------------------------------------------------------------------------------------------------ */

void play_begin_host(uint32_t at, uint64_t capacity, bool linked)
{
        struct play_host *host = &play->hosts[at];
        struct pw_scheduler_params params = { .host = PLAY_FIRST + at, .epoch = PLAY_EPOCH, .linked = linked };
        struct pw_error err;

        host->scheduler = pw_scheduler_new(&params, &err);
        assert_non_null(host->scheduler);
        for (uint32_t d = 0; d < PLAY_DEVICES; d++) {
                struct pw_device_add add = { d, d, "emulated", capacity, false, false };
                assert_int_equal(pw_scheduler_device_add(host->scheduler, &add, &err), PW_OK);
                assert_int_equal(pw_scheduler_segment(host->scheduler, d, "t", 100 + d, capacity, &err), PW_OK);
        }
        for (uint32_t other = 0; other < PLAY_HOSTS; other++)
                if (other != at)
                        assert_int_equal(pw_scheduler_coordinator_add(host->scheduler, PLAY_FIRST + other, PLAY_EPOCH, &err),
                                         PW_OK);
}

void play_end(void)
{
        for (uint32_t p = 0; p < PLAY_PROGRAMS; p++)
                play_end_program(&play->programs[p]);
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                pw_scheduler_free(play->hosts[at].scheduler);
        for (uint32_t i = 0; i < PLAY_HOSTS * PLAY_HOSTS; i++)
                free(play->links[i / PLAY_HOSTS][i % PLAY_HOSTS].frames);
        for (uint32_t i = 0; i < PLAY_KEPT; i++)
                free(play->kept[i].bytes);
}

