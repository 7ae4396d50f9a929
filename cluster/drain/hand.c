/* Items that are handed on: each waits, or somebody is asked for it, or it is let go of. */
#include "cluster/drain/hand.h"

#include "base/list.h"
#include "base/memory.h"
#include "base/table.h"

#include <stdlib.h>

/* In `unready`, `waiting`, `refused` (who was refused first is first), `asked` or `taken` of the core. */
struct item {
        struct pw_list link;
        uint64_t number, look;
        struct pw_id id;
        uint64_t again_us;  /* refused: not before */
        bool is_asked, is_unready;
};

struct pw_hand {
        struct pw_hand_params params;
        uint32_t host;      /* that takes over; 0: nobody */
        uint32_t asked_count;
        uint64_t looks;
        struct pw_table items; /* by number */
        struct pw_list unready, waiting, refused, asked, taken;
};

enum pw_status pw_hand_new(const struct pw_hand_params *params, struct pw_hand **ret_hand, struct pw_error *ret_err)
{
        struct pw_hand *hand = calloc(1, sizeof *hand);

        if (!hand)
                return pw_error_set(ret_err, PW_NO_MEMORY, "what this host hands on");
        hand->params = *params;
        pw_list_init(&hand->unready);
        pw_list_init(&hand->waiting);
        pw_list_init(&hand->refused);
        pw_list_init(&hand->asked);
        pw_list_init(&hand->taken);
        *ret_hand = hand;
        return PW_OK;
}

static void move_to(struct pw_hand *hand, struct item *item, struct pw_list *list)
{
        hand->asked_count -= item->is_asked;
        item->is_asked = list == &hand->asked;
        item->is_unready = false;
        hand->asked_count += item->is_asked;
        pw_list_remove(&item->link);
        pw_list_append(list, &item->link);
}

static void forget(struct pw_hand *hand, struct item *item)
{
        hand->asked_count -= item->is_asked;
        pw_table_remove(&hand->items, item->number);
        pw_list_remove(&item->link);
        free(item);
}

void pw_hand_free(struct pw_hand *hand)
{
        struct item *item;

        if (!hand)
                return;
        for (uint32_t at = 0; (item = pw_table_next(&hand->items, &at));)
                free(item);
        pw_table_done(&hand->items);
        free(hand);
}

/* --- who takes over --------------------------------------------------------------------------------------------------------- */

static void ask_again(struct pw_hand *hand)
{
        struct item *item;

        pw_list_each(&hand->asked, item, struct item, link)
                move_to(hand, item, &hand->waiting);
}

void pw_hand_to(struct pw_hand *hand, uint32_t host)
{
        struct item *item;

        if (hand->host == host)
                return;
        hand->host = host;
        ask_again(hand);
        pw_list_each(&hand->refused, item, struct item, link)
                move_to(hand, item, &hand->waiting);
}

void pw_hand_ended(struct pw_hand *hand, uint32_t host)
{
        if (hand->host == host)
                ask_again(hand);
}

/* --- what there is ---------------------------------------------------------------------------------------------------------- */

void pw_hand_look(struct pw_hand *hand) { hand->looks++; }

enum pw_status pw_hand_see(struct pw_hand *hand, uint64_t number, struct pw_id id, bool is_ready, struct pw_error *ret_err)
{
        struct item *item = pw_table_get(&hand->items, number);

        if (!item) {
                item = calloc(1, sizeof *item);
                if (!item || !pw_table_put(&hand->items, number, item)) {
                        free(item);
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what is handed on");
                }
                item->number = number;
                item->id = id;
                pw_list_init(&item->link);
                pw_list_append(&hand->unready, &item->link);
                item->is_unready = true;
        }
        if (item->is_unready && is_ready)
                move_to(hand, item, &hand->waiting);
        item->look = hand->looks;
        return PW_OK;
}

void pw_hand_looked(struct pw_hand *hand)
{
        struct pw_list *const lists[] = { &hand->unready, &hand->waiting, &hand->refused, &hand->asked, &hand->taken };
        struct item *item;

        for (uint32_t i = 0; i < pw_array_count(lists); i++)
                pw_list_each(lists[i], item, struct item, link)
                        if (item->look != hand->looks)
                                forget(hand, item);
}

/* --- answers ---------------------------------------------------------------------------------------------------------------- */

void pw_hand_answered(struct pw_hand *hand, uint32_t host, uint64_t number, enum pw_status status, uint64_t now_us)
{
        struct item *item = pw_table_get(&hand->items, number);

        if (!item || !item->is_asked || host != hand->host)
                return;
        if (status == PW_OK || status == PW_EXISTS) {
                move_to(hand, item, &hand->taken);
                return;
        }
        item->again_us = now_us + hand->params.pause_us;
        move_to(hand, item, &hand->refused);
}

bool pw_hand_next(struct pw_hand *hand, uint64_t now_us, struct pw_hand_action *ret_action)
{
        struct item *item;

        if (!pw_list_empty(&hand->taken)) {
                item = pw_list_first(&hand->taken, struct item, link);
                *ret_action = (struct pw_hand_action){ PW_HAND_LET_GO, hand->host, item->number, item->id };
                forget(hand, item);
                return true;
        }
        while (!pw_list_empty(&hand->refused) && pw_list_first(&hand->refused, struct item, link)->again_us <= now_us)
                move_to(hand, pw_list_first(&hand->refused, struct item, link), &hand->waiting);
        if (!hand->host || pw_list_empty(&hand->waiting) || hand->asked_count >= hand->params.window)
                return false;
        item = pw_list_first(&hand->waiting, struct item, link);
        *ret_action = (struct pw_hand_action){ PW_HAND_ASK, hand->host, item->number, item->id };
        move_to(hand, item, &hand->asked);
        return true;
}

uint64_t pw_hand_next_us(const struct pw_hand *hand)
{
        return hand->host && !pw_list_empty(&hand->refused) ? pw_list_first(&hand->refused, struct item, link)->again_us
                                                            : UINT64_MAX;
}

uint64_t pw_hand_count(const struct pw_hand *hand) { return hand->items.count; }
