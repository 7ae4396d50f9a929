/* One process has many sessions, and each of them asks for as much room as it may wait for, all until the same moment: what waits
 * has a bound for a tenant, too, and those whose time is over are told so in parts.
 */
#include "tests/attack/attack.h"

#include "base/size.h"
#include "libclient/socket/connection.h"
#include "plane/control.h"
#include "plane/entry.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define SESSIONS 12
#define WANTED_BYTES (200 * PW_MIB) /* there is as much, so that it is not refused; it is held */
#define HELD_BYTES (100 * PW_MIB)
#define SMALL 20000u                /* values that are held besides: who is told why it waited is told who has them */
#define PATIENCE_US (4 * IT_SECOND)

struct queuer { const struct it_host *host; uint32_t sessions; };

static int hold(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        void *data;

        it_ok(pw_create(session, HELD_BYTES, NULL, &future, &data, IT_ERR));
        it_ok(pw_seal(future, IT_ERR));
        for (uint32_t i = 0; i < SMALL; i++)
                it_ok(pw_put(session, "a value of more than 24 bytes", 30, NULL, &future, IT_ERR));
        if (write(pipe, "h", 1) != 1)
                return 1;
        pause();
        return 0;
}

static void ask(struct pw_connection *connection, uint32_t lane, int64_t timeout_us)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__RoomRequest room = PATHWAYS__WIRE__ROOM_REQUEST__INIT;

        room.lane = lane;
        room.count = 1;
        room.size_class = pw_size_class(WANTED_BYTES);
        room.room_bytes = WANTED_BYTES;
        room.timeout_us = timeout_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_ROOM;
        request.room = &room;
        it_ok(pw_connection_post(connection, &request, IT_ERR));
}

static void fence(struct pw_connection *connection)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__LaneEnd end = PATHWAYS__WIRE__LANE_END__INIT;
        struct pw_answer answer;

        end.lane = PW_LANES_MAX;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LANE_END;
        request.lane_end = &end;
        it_ok(pw_connection_call(connection, &request, &answer, IT_ERR));
        pw_answer_done(&answer);
}

static int64_t left_until(int64_t until_us)
{
        int64_t left_us = until_us - it_now_us();

        return left_us > 1 ? left_us : 1;
}

/* Those of its tenant. */
static bool nobody_waits(const struct pw_listing *status, void *context)
{
        (void)context;
        return !it_number(status, 0, "puts_waiting");
}

/* Says 'q' once the daemon has read all, 'o' when the time of all is over. */
static int queue_up(void *context, int pipe)
{
        const struct queuer *queuer = context;
        struct pw_connection **connections = calloc(queuer->sessions, sizeof *connections);
        int64_t until_us;
        struct pw_session *session;
        struct pw_answer answer;

        for (uint32_t i = 0; i < queuer->sessions; i++) {
                it_ok(pw_connection_open(&(struct pw_connection_params){ .path = queuer->host->socket, .fd = -1, .role = "client" },
                                         &connections[i], &answer, IT_ERR));
                pw_answer_done(&answer);
        }
        until_us = it_now_us() + PATIENCE_US;
        for (uint32_t lane = 0; lane < PW_LANES_MAX; lane++)
                for (uint32_t i = 0; i < queuer->sessions; i++)
                        ask(connections[i], lane, left_until(until_us));
        for (uint32_t i = 0; i < queuer->sessions; i++)
                fence(connections[i]);
        if (write(pipe, "q", 1) != 1)
                return 1;
        session = it_connect(queuer->host);
        it_until(session, "status", nobody_waits, NULL);
        pw_close(session);
        for (uint32_t i = 0; i < queuer->sessions; i++)
                fence(connections[i]);
        if (write(pipe, "o", 1) != 1)
                return 1;
        pause();
        return 0;
}

static void attack_room_crowd(struct it_host *host)
{
        struct queuer queuer = { host, (uint32_t)it_environment("PW_QUEUERS", SESSIONS) };
        struct it_child holder = attack_fork(ATTACK_USER, hold, host), child;
        char byte;

        it_read(&holder, &byte, 1);
        child = attack_fork(ATTACK_USER, queue_up, &queuer);
        it_read(&child, &byte, 1);
        print_message("room_crowd: %d requests wait\n", (int)it_listed(host->session, "status", "puts_waiting"));
        it_read(&child, &byte, 1);
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        it_reap(&holder, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "room_crowd",
                                             .rule = "who waits for room has a bound for a tenant, and is told in parts",
                                             .args = IT_ARGS("--devices", "emulated:2", "--device-memory", "16MiB",
                                                             "--host-memory", "256MiB"),
                                             .users = true,
                                             .alone = true,
                                             .run = attack_room_crowd });
}
