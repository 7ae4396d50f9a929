/* A client asks for all the slots that a segment has, at once, again and again: a request gets no more than the library itself asks
 * for, and the records of what was granted are counted. */
#include "tests/attack/attack.h"

#include "base/size.h"
#include "libclient/socket/connection.h"
#include "plane/control.h"
#include "plane/entry.h"

#include <signal.h>
#include <unistd.h>

#define SLOTS ((1u << 24) - 1)
#define REQUESTS 24u
#define APART_BYTES (24 * PW_MIB) /* what the daemon has besides, of its own */

static enum pw_status ask(struct pw_connection *connection, uint32_t lane, bool futures, uint32_t *ret_count,
                          struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__RoomRequest room = PATHWAYS__WIRE__ROOM_REQUEST__INIT;
        struct pw_answer answer;

        room.lane = lane;
        room.count = SLOTS;
        room.inline_only = !futures;
        room.futures = futures;
        room.timeout_us = 0;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_ROOM;
        request.room = &room;
        enum pw_status status = pw_connection_call(connection, &request, &answer, ret_err);
        if (status != PW_OK)
                return status;
        *ret_count = answer.reply->room->slot_count;
        pw_answer_done(&answer);
        return PW_OK;
}

/* Sends how many slots it got. */
static int ask_for_all(void *context, int pipe)
{
        const struct it_host *host = context;
        struct pw_connection *connection;
        struct pw_answer answer;
        uint64_t all = 0;

        it_ok(pw_connection_open(&(struct pw_connection_params){ .path = host->socket, .fd = -1, .role = "client" },
                                 &connection, &answer, IT_ERR));
        pw_answer_done(&answer);
        for (uint32_t i = 0; i < REQUESTS; i++) {
                uint32_t count = 0;

                it_ok(ask(connection, i, i % 2, &count, IT_ERR));
                assert_true(count > 0 && count <= PW_GRANT_SLOTS_MAX);
                all += count;
        }
        if (write(pipe, &all, sizeof all) != sizeof all)
                return 1;
        pause();
        return 0;
}

static uint64_t overhead(struct it_host *host)
{
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        uint64_t bytes = (uint64_t)it_number(memory, it_find(memory, "term", "overhead"), "bytes");

        pw_listing_free(memory);
        return bytes;
}

static void attack_many_slots(struct it_host *host)
{
        uint64_t said = overhead(host), private_bytes = attack_private_bytes(host->pid), all;
        struct it_child child = attack_fork(ATTACK_USER, ask_for_all, host);

        it_read(&child, &all, sizeof all);
        assert_true(attack_private_bytes(host->pid) <= private_bytes + APART_BYTES);
        assert_true(overhead(host) >= said + all * 64); /* a record of 64 bytes each, and half of them have an entry of their own */
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "many_slots",
                                             .rule = "a request for slots gets as many as the library asks for, and their records "
                                                     "are counted",
                                             .users = true,
                                             .alone = true,
                                             .run = attack_many_slots });
}
