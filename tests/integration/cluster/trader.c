/* A client of an exchange. */
#include "tests/integration/cluster/trader.h"

#include "plane/hint.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT 3
#define MOST_BYTES (6u << 20)

/* What goes by pipes: whoever reads it knows what the value must be. */
struct letter {
        struct pw_id id;
        uint64_t tag, bytes;
};

struct kept {
        struct pw_future *future;
        struct letter letter;
};

struct trade {
        struct trader *self;
        struct pw_session *session;
        struct kept kept[KEPT];
};

const char *trader_name(int i)
{
        static const char *const names[TRADER_NAMES] = { "flour", "salt", "wool", "tin" };

        return names[i];
}

/* --- failures ----------------------------------------------------------------------------------------------------------------- */

static void give_up(struct trade *trade, const struct kept *kept, const char *what, const struct pw_error *err)
{
        struct pw_listing *why = NULL;
        char id[PW_ID_TEXT_BYTES] = "";

        if (kept)
                pw_id_format(kept->letter.id, id);
        print_error("trader %d: %s %s: %s %s\n", trade->self->number, what, id, pw_status_name(err->status), err->text);
        if (kept && pw_list(trade->session, "why", id, 0, &why, NULL) == PW_OK)
                it_print(why);
        _exit(1);
}

static uint64_t pick(struct trade *trade, uint64_t below) { return it_random(&trade->self->seed) % below; }

static void forget_all(struct trade *trade)
{
        for (int i = 0; i < KEPT; i++) {
                pw_unref(trade->kept[i].future);
                trade->kept[i] = (struct kept){ 0 };
        }
}

/* Its daemon is gone: what it had is gone with it. */
static void attach_again(struct trade *trade)
{
        int64_t limit_us = it_now_us() + 2 * IT_LONG;
        struct pw_error err = { PW_OK, "" };

        forget_all(trade);
        pw_close(trade->session);
        trade->session = NULL;
        while (pw_connect(trade->self->host->socket, &trade->session, &err) != PW_OK) {
                if (it_now_us() > limit_us)
                        give_up(trade, NULL, "no daemon again", &err);
                sched_yield();
        }
}

/* It went well: true. Else it failed for one of `causes`, up to a PW_OK, or because this host's own daemon ended. */
static bool went_well(struct trade *trade, const struct kept *kept, const char *what, const struct pw_error *err,
                      const enum pw_status *causes)
{
        if (err->status == PW_OK)
                return true;
        if (err->status == PW_DAEMON_GONE) {
                attach_again(trade);
                return false;
        }
        if (!err->text[0])
                give_up(trade, kept, what, err);
        while (*causes != PW_OK && *causes != err->status)
                causes++;
        if (*causes == PW_OK)
                give_up(trade, kept, what, err);
        atomic_fetch_add(&trade->self->board->lost, 1);
        atomic_fetch_add(&trade->self->board->hosts_lost, err->status == PW_HOST_LOST);
        return false;
}
#define CAUSES(...) (const enum pw_status[]){ __VA_ARGS__, PW_OK }

/* --- values ------------------------------------------------------------------------------------------------------------------- */

static uint8_t byte_of(uint64_t tag, uint64_t i)
{
        return (uint8_t)(((i >> 3) * UINT64_C(0x9e3779b97f4a7c15) + tag) >> (8 * (i & 7)));
}

static uint64_t pick_bytes(struct trade *trade)
{
        static const uint64_t most[] = { 1, 25, 400, 4097, 4097, 70000, 1 << 20, MOST_BYTES };

        return pick(trade, most[pick(trade, 8)] + 1);
}

static void judge(struct trade *trade, const struct kept *kept, const struct pw_view *view)
{
        const uint8_t *data = view->data;

        if (view->bytes != kept->letter.bytes)
                give_up(trade, kept, "a value of another size", &(struct pw_error){ PW_FAILED, "" });
        for (uint64_t i = 0; i < view->bytes; i++)
                if (data[i] != byte_of(kept->letter.tag, i)) {
                        print_error("byte %llu of %llu is %02x\n", (unsigned long long)i, (unsigned long long)view->bytes, data[i]);
                        give_up(trade, kept, "a wrong byte", &(struct pw_error){ PW_FAILED, "" });
                }
        atomic_fetch_add(&trade->self->board->read_bytes, view->bytes);
}

/* False: it failed, as it may; what it had may be gone. */
static bool read_it(struct trade *trade, const struct kept *kept)
{
        struct pw_error err = { PW_OK, "" };
        struct pw_view view;

        if (pw_get(kept->future, IT_LONG, &view, &err) == PW_OK) {
                judge(trade, kept, &view);
                pw_view_done(&view);
                return true;
        }
        return went_well(trade, kept, "get", &err, CAUSES(PW_HOST_LOST, PW_PRODUCER_LOST));
}

static void hand_out(struct trade *trade, const struct kept *kept)
{
        int to = (int)pick(trade, TRADERS);

        (void)!write(trade->self->inboxes[to][1], &kept->letter, sizeof kept->letter); /* a full one takes no more */
}

static void drop(struct kept *kept)
{
        pw_unref(kept->future);
        *kept = (struct kept){ 0 };
}

/* Half of them are handed out before their bytes are there. */
static void put_one(struct trade *trade, struct kept *kept)
{
        struct pw_error err = { PW_OK, "" };
        bool early = pick(trade, 2);
        void *data;

        drop(kept);
        kept->letter = (struct letter){ .tag = it_random(&trade->self->seed), .bytes = pick_bytes(trade) };
        (void)!pw_create(trade->session, kept->letter.bytes, NULL, &kept->future, &data, &err);
        if (!went_well(trade, NULL, "create", &err, CAUSES(PW_NO_SPACE)))
                return;
        kept->letter.id = pw_future_id(kept->future);
        if (early)
                hand_out(trade, kept);
        for (uint64_t i = 0; i < kept->letter.bytes; i++)
                ((uint8_t *)data)[i] = byte_of(kept->letter.tag, i);
        (void)!pw_seal(kept->future, &err);
        if (went_well(trade, kept, "seal", &err, CAUSES(PW_OK)) && !early)
                hand_out(trade, kept);
}

/* What another one had, or this one: whoever had it may have let go of it, so that it may be gone. */
static void open_one(struct trade *trade, struct kept *kept)
{
        struct pw_error err = { PW_OK, "" };
        struct letter letter;

        if (read(trade->self->inboxes[trade->self->number][0], &letter, sizeof letter) != sizeof letter)
                return;
        drop(kept);
        *kept = (struct kept){ .letter = letter };
        (void)!pw_open(trade->session, letter.id, &kept->future, &err);
        if (!went_well(trade, kept, "open", &err, CAUSES(PW_GONE, PW_HOST_LOST, PW_NOT_FOUND)))
                return;
        atomic_fetch_add(&trade->self->board->opened, 1);
        if (pick(trade, 4) && read_it(trade, kept) && kept->future && pick(trade, 2))
                hand_out(trade, kept);
}

/* Redis may be away, or have come back empty; others take the name, or remove it. */
static void name_one(struct trade *trade, struct kept *kept)
{
        const char *name = trader_name((int)pick(trade, TRADER_NAMES));
        struct pw_error err = { PW_OK, "" };

        if (!kept->future)
                return;
        (void)!pw_name(kept->future, name, &err);
        (void)went_well(trade, kept, "name", &err,
                        CAUSES(PW_EXISTS, PW_NOT_READY, PW_HOST_LOST, PW_GONE, PW_DEADLINE, PW_CANCELLED));
}

static void look_up(struct trade *trade)
{
        const char *name = trader_name((int)pick(trade, TRADER_NAMES));
        struct pw_error err = { PW_OK, "" };
        struct pw_future *found = NULL;
        struct pw_view view;

        (void)!pw_lookup(trade->session, name, (int64_t)pick(trade, 2) * 20000, &found, &err);
        if (!went_well(trade, NULL, "lookup", &err,
                       CAUSES(PW_NOT_FOUND, PW_NOT_READY, PW_DEADLINE, PW_GONE, PW_HOST_LOST)))
                return;
        if (pw_get(found, IT_LONG, &view, &err) == PW_OK)
                pw_view_done(&view);
        else
                (void)went_well(trade, &(struct kept){ found, { pw_future_id(found), 0, 0 } }, "get of a name", &err,
                                CAUSES(PW_HOST_LOST, PW_PRODUCER_LOST));
        pw_unref(found);
}

static void unname_one(struct trade *trade)
{
        const char *name = trader_name((int)pick(trade, TRADER_NAMES));
        struct pw_error err = { PW_OK, "" };

        (void)!pw_unname(trade->session, name, &err);
        (void)went_well(trade, NULL, "unname", &err,
                        CAUSES(PW_NOT_FOUND, PW_NOT_READY, PW_DEADLINE, PW_HOST_LOST));
}

/* --- the whole ---------------------------------------------------------------------------------------------------------------- */

static void step(struct trade *trade)
{
        static const char kinds[] = "ppooooooooghhdnlu";
        struct kept *kept = &trade->kept[pick(trade, KEPT)];
        char kind = kinds[pick(trade, sizeof kinds - 1)];

        atomic_store(&trade->self->board->doing[trade->self->number], kind);
        switch (kind) {
        case 'p': put_one(trade, kept); break;
        case 'o': open_one(trade, kept); break;
        case 'g':
                if (kept->future)
                        (void)read_it(trade, kept);
                break;
        case 'h':
                if (kept->future)
                        hand_out(trade, kept);
                break;
        case 'd': drop(kept); break;
        case 'n': name_one(trade, kept); break;
        case 'l': look_up(trade); break;
        default: unname_one(trade);
        }
}

int trader_main(void *context, int pipe)
{
        struct trade trade = { .self = context };
        struct trade_board *board = trade.self->board;

        attach_again(&trade);
        if (write(pipe, "t", 1) != 1)
                return 1;
        while (!atomic_load(&board->stop)) {
                step(&trade);
                atomic_fetch_add(&board->steps[trade.self->number], 1);
                atomic_fetch_add(&board->turns, 1);
                pw_futex_wake(&board->turns, 1);
        }
        forget_all(&trade);
        atomic_fetch_add(&board->resting, 1);
        pw_futex_wake(&board->resting, 1);
        while (!atomic_load(&board->over))
                (void)pw_futex_wait(&board->over, 0, (it_now_us() + IT_LONG) * 1000);
        pw_close(trade.session);
        return 0;
}
