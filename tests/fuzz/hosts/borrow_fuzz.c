/* A borrower and a lender whose peers say anything that can be decoded, whose terms end at any time, and who are asked anything by
 * those here: no answer comes twice, nothing is done to a slot that is not there, and all is given back. */
#include "cluster/borrow/borrow.h"
#include "cluster/borrow/lend.h"
#include "cluster/link/link.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEERS 3u
#define SLOTS 16u
#define OPENERS 256u

struct two {
        struct fuzz_bytes bytes;
        struct pw_borrow *borrow;
        struct pw_lend *lend;
        struct pw_proxy *slots[SLOTS], *unmade[SLOTS];
        bool waits[OPENERS];
        uint32_t openers, unmade_count;
        uint64_t now_us;
};

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "%s\n", what);
        abort();
}

static struct pw_proxy **slot_of(struct two *two, const struct pw_proxy *proxy)
{
        for (uint32_t i = 0; i < SLOTS; i++)
                if (two->slots[i] == proxy)
                        return &two->slots[i];
        return NULL;
}

static void make(struct two *two, struct pw_proxy *proxy)
{
        struct pw_proxy **slot = slot_of(two, NULL);

        must(!slot_of(two, proxy), "a slot is made twice");
        if (slot)
                *slot = proxy;
        else
                two->unmade[two->unmade_count++ % SLOTS] = proxy;
}

static void borrow_acts(struct two *two)
{
        struct pw_borrow_action action;
        struct pw_error err;

        while (pw_borrow_next(two->borrow, &action))
                switch (action.kind) {
                case PW_BORROW_SEND: pw_link_frame_free(action.frame); break;
                case PW_BORROW_WANT: break;
                case PW_BORROW_MAKE: make(two, action.proxy); break;
                case PW_BORROW_TELL: case PW_BORROW_RENEWED: case PW_BORROW_FETCH: case PW_BORROW_LOSE:
                        must(slot_of(two, action.proxy), "a slot that is not there");
                        break;
                case PW_BORROW_ANSWER:
                        must(two->waits[action.opener], "answered, and did not wait");
                        two->waits[action.opener] = false;
                        must(action.proxy || pw_borrow_explain(&action, &err) != PW_OK, "no proxy, and no error");
                }
        while (two->unmade_count)
                pw_borrow_freed(two->borrow, two->unmade[--two->unmade_count]);
        while (pw_borrow_next(two->borrow, &action))
                pw_link_frame_free(action.frame);
}

static void lend_acts(struct two *two)
{
        struct pw_lend_action action;

        while (pw_lend_next(two->lend, &action))
                pw_link_frame_free(action.frame);
}

static struct pw_id take_id(struct two *two)
{
        return pw_id_make(1 + (uint32_t)fuzz_take(&two->bytes, 1) % (PEERS + 1), 1 + (uint32_t)fuzz_take(&two->bytes, 1) % 2, 3,
                          (uint32_t)fuzz_take(&two->bytes, 1) % 4, 1);
}

static void open_one(struct two *two)
{
        static const char *const tenants[] = { "ann", "bo", "" };
        struct pw_borrow_request request = { take_id(two), tenants[fuzz_take(&two->bytes, 1) % 3], two->openers + 1,
                                             two->now_us + fuzz_take(&two->bytes, 1), two->now_us };
        struct pw_proxy *proxy;
        enum pw_status status;

        if (two->openers + 1 == OPENERS)
                return;
        two->openers++;
        status = pw_borrow_open(two->borrow, &request, &proxy, NULL);
        two->waits[request.opener] = status == PW_NOT_READY;
        must(status != PW_OK || slot_of(two, proxy), "opened, and there is no slot");
}

static struct pw_talk_known take_known(struct two *two)
{
        struct pw_talk_known known = { .state = (enum pw_talk_state)(fuzz_take(&two->bytes, 1) % PW_TALK_STATES) };

        if (known.state == PW_TALK_NONE || known.state >= PW_TALK_FAILED)
                known.status = fuzz_take(&two->bytes, 1) & 1 ? PW_HOST_LOST : PW_GONE;
        return known;
}

static void hear(struct two *two)
{
        uint8_t id[PW_TALK_ID_BYTES];
        struct pw_talk_message message = { .kind = 1 + (enum pw_talk_kind)(fuzz_take(&two->bytes, 1) % PW_TALK_KINDS),
                                           .number = 1 + fuzz_take(&two->bytes, 1) % 32, .tenant = { "ann", 3 } };
        uint32_t host = 2 + (uint32_t)fuzz_take(&two->bytes, 1) % PEERS;
        enum pw_status status;

        message.known = take_known(two);
        if (message.kind == PW_TALK_DRAINS || message.kind == PW_TALK_TAKES)
                message.host = 1 + (uint32_t)fuzz_take(&two->bytes, 1) % (PEERS + 1);
        if (message.kind == PW_TALK_OPEN)
                message.id = take_id(two);
        if (message.kind == PW_TALK_FOUND || message.kind == PW_TALK_SEARCH) {
                pw_talk_put_id(id, take_id(two));
                message.ids = (struct pw_talk_bytes){ id, sizeof id };
        }
        if (pw_talk_is_for_lender(message.kind))
                status = pw_lend_receive(two->lend, host, &message, NULL);
        else
                status = pw_borrow_receive(two->borrow, host, &message, NULL);
        must(status == PW_OK || status == PW_PROTOCOL || status == PW_NO_MEMORY, "what is said ends in another way");
        borrow_acts(two);
        lend_acts(two);
}

static void end_term(struct two *two)
{
        uint32_t host = 2 + (uint32_t)fuzz_take(&two->bytes, 1) % PEERS;

        pw_borrow_ended(two->borrow, host);
        pw_lend_ended(two->lend, host);
}

static void turn(struct two *two)
{
        two->now_us += fuzz_take(&two->bytes, 1);
        (void)pw_borrow_turn(two->borrow, two->now_us, (uint32_t)fuzz_take(&two->bytes, 1) % 4);
        (void)pw_lend_turn(two->lend, 1);
}

static void one(struct two *two)
{
        struct pw_proxy **slot = &two->slots[fuzz_take(&two->bytes, 1) % SLOTS];
        struct pw_talk_known known;
        uint64_t session, number;

        switch (fuzz_take(&two->bytes, 1) % 10) {
        case 0: case 1: open_one(two); break;
        case 2:
                if (*slot)
                        pw_borrow_freed(two->borrow, *slot);
                *slot = NULL;
                break;
        case 3:
                if (*slot)
                        pw_borrow_pulled(two->borrow, *slot);
                break;
        case 4:
                (void)!pw_borrow_met(two->borrow, 2 + (uint32_t)fuzz_take(&two->bytes, 1) % PEERS,
                                     1 + (uint32_t)fuzz_take(&two->bytes, 1) % 2, NULL);
                break;
        case 5: end_term(two); break;
        case 6: turn(two); break;
        case 7:
                session = 1 + fuzz_take(&two->bytes, 1) % 8;
                number = 1 + fuzz_take(&two->bytes, 1) % 32;
                known = take_known(two);
                if (known.state != PW_TALK_NONE && fuzz_take(&two->bytes, 1) & 1)
                        (void)!pw_lend_told(two->lend, session, number, &known, NULL);
                else
                        (void)!pw_lend_held(two->lend, session, number, &known, NULL);
                break;
        default: hear(two);
        }
        borrow_acts(two);
        lend_acts(two);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct two two = { .bytes = { bytes, count } };

        if (pw_lend_new(NULL, &two.lend, NULL) == PW_OK &&
            pw_borrow_new(&(struct pw_borrow_params){ .own = 1, .lease_us = 500 }, &two.borrow, NULL) == PW_OK)
                while (two.bytes.left)
                        one(&two);
        pw_borrow_free(two.borrow);
        pw_lend_free(two.lend);
        return 0;
}
