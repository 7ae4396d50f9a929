/* Metadata as it may be: names of two tenants, done in order, answered in any. */
#include "store/name/late_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOREIGN_HOST 9u

const char *const late_names[LATE_NAMES] = { "weights", "bias", "data", "x" };

uint32_t late_dice(struct late *late, uint32_t sides)
{
        late->state ^= late->state << 13;
        late->state ^= late->state >> 7;
        late->state ^= late->state << 17;
        return (uint32_t)(late->state >> 20) % sides;
}

void late_open(struct late *late, uint64_t seed)
{
        *late = (struct late){ .seed = seed, .state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1 };
        late->asks = calloc(LATE_PENDING, sizeof *late->asks);
        late->bound = calloc(LATE_BOUND, sizeof *late->bound);
        assert_true(late->asks && late->bound);
}

void late_close(struct late *late)
{
        assert_int_equal(late->count, 0);
        free(late->asks);
        free(late->bound);
}

bool late_is_foreign(struct pw_id id) { return pw_id_host(id) == FOREIGN_HOST; }

bool late_was_bound(const struct late *late, const char *name, struct pw_id id)
{
        for (uint32_t i = 0; i < late->bound_count; i++)
                if (!strcmp(late_names[late->bound[i].name], name) && pw_id_equal(late->bound[i].id, id))
                        return true;
        return false;
}

static void set_bound(struct late *late, struct late_name *name, uint32_t number, struct pw_id id)
{
        *name = (struct late_name){ id, ++late->version };
        assert_true(late->bound_count < LATE_BOUND);
        late->bound[late->bound_count].name = number;
        late->bound[late->bound_count++].id = id;
}

static void do_ask(struct late *late, struct late_ask *ask)
{
        struct late_name *name = &late->names[ask->tenant][ask->name];
        struct pw_name_answer *answer = &ask->answer;

        if (ask->kind == PW_NAME_BIND && !name->version)
                set_bound(late, name, ask->name, ask->id);
        *answer = (struct pw_name_answer){ ask->token, PW_NAMED_NOT_FOUND, name->id, name->version, { 0, 0 } };
        if (name->version)
                answer->outcome = ask->kind == PW_NAME_RESOLVE || pw_id_equal(name->id, ask->id) ? PW_NAMED_OK : PW_NAMED_TAKEN;
        else
                answer->id = (struct pw_id){ 0 };
        if (ask->kind == PW_NAME_UNBIND && answer->outcome == PW_NAMED_OK)
                *name = (struct late_name){ .version = 0 };
        ask->done = true;
}

/* The first that is not done. */
static struct late_ask *next_ask(struct late *late)
{
        for (uint32_t i = 0; i < late->count; i++)
                if (!late->asks[i].done)
                        return &late->asks[i];
        return NULL;
}

static void take(struct late *late, struct pw_store *store)
{
        struct pw_name_ask ask;
        struct late_ask *kept = &late->asks[late->count];
        uint32_t name = 0;

        if (!pw_store_name_next(store, &ask))
                return;
        while (strcmp(late_names[name], ask.name))
                name++;
        assert_true(late->count++ < LATE_PENDING);
        *kept = (struct late_ask){ .token = ask.token, .kind = ask.kind, .tenant = !strcmp(ask.tenant, "bo"), .name = name,
                                   .id = ask.id };
        if (late->away) {
                kept->answer = (struct pw_name_answer){ .token = ask.token, .outcome = PW_NAMED_AWAY };
                kept->done = true;
        }
        pw_store_name_asked(store, ask.token);
}

static void answer(struct late *late, struct pw_store *store, uint64_t now_us)
{
        uint32_t i = late->count ? late_dice(late, late->count) : 0;
        struct pw_name_answer told;

        if (!late->count || !late->asks[i].done)
                return;
        told = late->asks[i].answer;
        memmove(&late->asks[i], &late->asks[i + 1], (--late->count - i) * sizeof *late->asks);
        pw_store_name_answered(store, &told, now_us);
}

/* What was asked is done by then, or never; who asked is not told which. */
static void go_away(struct late *late)
{
        late->away = true;
        for (struct late_ask *ask; (ask = next_ask(late));) {
                enum pw_name_outcome outcome = late_dice(late, 2) ? PW_NAMED_UNKNOWN : PW_NAMED_AWAY;

                if (outcome == PW_NAMED_UNKNOWN && late_dice(late, 2))
                        do_ask(late, ask);
                ask->done = true;
                ask->answer = (struct pw_name_answer){ .token = ask->token, .outcome = outcome };
        }
        for (uint32_t i = 0; i < late->count; i++)
                if (late->asks[i].answer.outcome != PW_NAMED_AWAY && late_dice(late, 2))
                        late->asks[i].answer = (struct pw_name_answer){ .token = late->asks[i].token, .outcome = PW_NAMED_UNKNOWN };
}

static void come_back(struct late *late, struct pw_store *store, uint64_t now_us)
{
        while (late->count)
                answer(late, store, now_us);
        late->away = false;
        pw_store_names_back(store);
}

/* Another host binds a name, or ends its binding. */
static void act_elsewhere(struct late *late)
{
        uint32_t number = late_dice(late, LATE_NAMES);
        struct late_name *name = &late->names[late_dice(late, 2)][number];

        if (!name->version)
                set_bound(late, name, number, pw_id_make(FOREIGN_HOST, 1, 1, late_dice(late, 100), 1));
        else if (late_is_foreign(name->id))
                *name = (struct late_name){ .version = 0 };
}

void late_turn(struct late *late, struct pw_store *store, uint64_t now_us)
{
        struct late_ask *ask;

        switch (late_dice(late, 12)) {
        case 0: case 1: case 2: case 3: take(late, store); break;
        case 4: case 5: case 6:
                if ((ask = next_ask(late)))
                        do_ask(late, ask);
                break;
        case 7: case 8: case 9: answer(late, store, now_us); break;
        case 10:
                act_elsewhere(late);
                break;
        default:
                if (late->away)
                        come_back(late, store, now_us);
                else if (!late_dice(late, 3))
                        go_away(late);
        }
}

void late_settle(struct late *late, struct pw_store *store, uint64_t now_us)
{
        struct pw_name_ask ask;
        struct late_ask *next;

        if (late->away)
                come_back(late, store, now_us);
        while (late->count || pw_store_name_next(store, &ask)) {
                take(late, store);
                while ((next = next_ask(late)))
                        do_ask(late, next);
                answer(late, store, now_us);
        }
}
