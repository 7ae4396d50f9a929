/* One client asks for room tens of thousands of times without waiting for an answer, and is killed while it waits: what it may have
 * in the queue is bounded, and its end costs no more than that. */
#include "tests/attack/attack.h"

#include "base/size.h"
#include "libclient/socket/connection.h"
#include "plane/control.h"
#include "plane/entry.h"

#include <signal.h>
#include <unistd.h>

#define REQUESTS 32000
#define WANTED_BYTES (200 * PW_MIB) /* there is as much, so that it is not refused; it is held */
#define HELD_BYTES (100 * PW_MIB)

struct queuer { const struct it_host *host; uint32_t requests; };

static int hold(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        void *data;

        it_ok(pw_create(session, HELD_BYTES, NULL, &future, &data, IT_ERR));
        it_ok(pw_seal(future, IT_ERR));
        if (write(pipe, "h", 1) != 1)
                return 1;
        pause();
        return 0;
}

/* Says 'q' once the daemon has read all. */
static int queue_up(void *context, int pipe)
{
        const struct queuer *queuer = context;
        struct pw_connection *connection;
        struct pw_answer answer;

        it_ok(pw_connection_open(&(struct pw_connection_params){ .path = queuer->host->socket, .fd = -1, .role = "client" },
                                 &connection, &answer, IT_ERR));
        pw_answer_done(&answer);
        for (uint32_t i = 0; i <= queuer->requests; i++) {
                Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
                Pathways__Wire__RoomRequest room = PATHWAYS__WIRE__ROOM_REQUEST__INIT;
                Pathways__Wire__LaneEnd end = PATHWAYS__WIRE__LANE_END__INIT;

                room.lane = i % PW_LANES_MAX;
                room.count = 1;
                room.size_class = pw_size_class(WANTED_BYTES);
                room.room_bytes = WANTED_BYTES;
                room.timeout_us = -1;
                end.lane = PW_LANES_MAX; /* a fence */
                request.body_case = i < queuer->requests ? PATHWAYS__WIRE__REQUEST__BODY_ROOM :
                        PATHWAYS__WIRE__REQUEST__BODY_LANE_END;
                if (i < queuer->requests)
                        request.room = &room;
                else
                        request.lane_end = &end;
                if (i < queuer->requests)
                        it_ok(pw_connection_post(connection, &request, IT_ERR));
                else
                        it_ok(pw_connection_call(connection, &request, &answer, IT_ERR));
        }
        if (write(pipe, "q", 1) != 1)
                return 1;
        pause();
        return 0;
}

static void attack_room_queue(struct it_host *host)
{
        struct queuer queuer = { host, (uint32_t)it_environment("PW_QUEUED", REQUESTS) };
        struct it_child holder = attack_fork(ATTACK_USER, hold, host), child;
        char byte;

        it_read(&holder, &byte, 1);
        child = attack_fork(ATTACK_USER, queue_up, &queuer);
        it_read(&child, &byte, 1);
        int64_t waiting = it_listed(host->session, "status", "puts_waiting");
        assert_true(waiting > 0 && waiting <= 2 * PW_LANES_MAX); /* others of this user may wait too */
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        int64_t since_us = it_now_us();
        (void)it_listed(host->session, "status", "puts_waiting"); /* asked while its end goes on */
        it_within("an answer at the end of a client with a long queue", since_us, 50000);
        it_reap(&holder, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "room_queue",
                                             .rule = "a lane waits for room once for each size, a session as often as it has lanes",
                                             .args = IT_ARGS("--devices", "emulated:2", "--device-memory", "16MiB",
                                                             "--host-memory", "256MiB"),
                                             .users = true,
                                             .alone = true,
                                             .run = attack_room_queue });
}
