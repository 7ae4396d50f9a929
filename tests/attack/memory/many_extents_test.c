/* As many extents as may be, of a slot each: others ask where the memory is, for a check, for room that is not there, and are told
 * who holds it; then the client is killed. No turn of the loop is long. */
#include "tests/attack/attack.h"
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

#include "base/size.h"
#include "libclient/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN_US 10000

struct plan { struct it_host *host; uint32_t count; };

/* Of the turns that the log tells of since `*at`: how long the longest one took. */
static long longest_us(const struct it_host *host, long *at)
{
        static const char key[] = "slow turn took_us=";
        FILE *log = fopen(host->log, "re");
        char line[600], *found;
        long most = 0;

        assert_non_null(log);
        assert_int_equal(fseek(log, *at, SEEK_SET), 0);
        while (fgets(line, sizeof line, log))
                if ((found = strstr(line, key)))
                        most = strtol(found + sizeof key - 1, NULL, 10) > most ? strtol(found + sizeof key - 1, NULL, 10) : most;
        *at = ftell(log);
        fclose(log);
        return most;
}

static void ask_room(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__RoomRequest body;

        (void)context;
        pathways__wire__room_request__init(&body);
        body.lane = i % PW_LANES_MAX;
        body.inline_only = true;
        body.count = 1;
        body.timeout_us = 0;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_ROOM;
        request->room = &body;
}

static int take_extents(void *context, int pipe)
{
        const struct plan *plan = context;
        int fd = raw_connect(plan->host);
        char text[200];
        uint32_t granted;

        assert_int_equal(raw_hello(fd, text), PW_OK);
        granted = raw_flood(&(struct raw_flood){ .fd = fd, .count = plan->count, .fill = ask_room, .limit_us = 4 * IT_LONG });
        assert_int_equal(write(pipe, &granted, sizeof granted), sizeof granted);
        pause();
        return 0;
}

static void judge(const struct it_host *host, const char *what, long *at)
{
        long most = longest_us(host, at);

        printf("many_extents: %s: the longest turn took %ld us\n", what, most);
        if (most > TURN_US)
                it_within(what, it_now_us() - most, TURN_US);
}

static bool is_gone(const struct pw_listing *owners, void *context)
{
        (void)context;
        for (size_t row = 0; row < it_rows(owners); row++)
                if (it_number(owners, row, "tenant_slots") > 1000)
                        return false;
        return true;
}

static void attack(struct it_host *host)
{
        struct plan plan = { host, (uint32_t)it_environment("PW_EXTENTS", 200000) };
        struct it_child child = attack_fork(ATTACK_USER, take_extents, &plan);
        struct pw_future *future, *other;
        struct pw_error err;
        uint32_t granted;
        long at = 0;
        void *data;

        it_read(&child, &granted, sizeof granted);
        assert_int_equal(granted, plan.count);
        it_ok(pw_create(host->session, 64 * PW_MIB, NULL, &future, &data, IT_ERR));
        longest_us(host, &at);
        pw_listing_free(it_list(host->session, "memory", NULL));
        judge(host, "where the memory is", &at);
        pw_listing_free(it_list(host->session, "check", NULL));
        judge(host, "a check", &at);
        assert_int_equal(pw_create(host->session, 300 * PW_MIB, &(struct pw_put_params){ .timeout_us = 50000 }, &other, &data,
                                   &err), PW_NO_SPACE);
        judge(host, "who holds the memory", &at);
        it_reap(&child, SIGKILL);
        it_until(host->session, "owners", is_gone, NULL);
        judge(host, "the end of the client", &at);
        pw_unref(future);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "many_extents",
                                             .rule = "whatever a client was granted, what is done about all of it is done in parts",
                                             .args = IT_ARGS("--devices", "emulated:2", "--device-memory", "16MiB",
                                                             "--host-memory", "448MiB", "--log-level", "debug"),
                                             .alone = true,
                                             .unwatched = true,
                                             .run = attack });
}
