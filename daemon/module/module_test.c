/* The version of a module is its file as it lies there now, whether the file was read for it or not; what is kept of versions is
 * bounded.
 */
#include "base/memory.h"
#include "daemon/child/spawn.h"
#include "daemon/install.h"
#include "daemon/module/module.h"
#include "daemon/module/module_file.h"
#include "daemon/session/output.h"

#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

void pw_session_reply(struct pw_dsession *session, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count)
{
        (void)session, (void)id, (void)reply, (void)fds, (void)fd_count;
}
void pw_session_reply_error(struct pw_dsession *session, uint64_t id, enum pw_status status, const char *text)
{
        (void)session, (void)id, (void)status, (void)text;
}
void pw_install_path(enum pw_install_part part, char *path, size_t bytes)
{
        (void)part;
        snprintf(path, bytes, "/nowhere");
}
enum pw_status pw_executor_user(struct pw_daemon *daemon, struct pw_executor_user *ret_user, struct pw_error *ret_err)
{
        (void)daemon, (void)ret_err;
        *ret_user = (struct pw_executor_user){ .change = false };
        return PW_OK;
}
static int64_t overhead;
void pw_store_overhead(struct pw_store *store, int64_t bytes)
{
        (void)store;
        overhead += bytes;
}
uint64_t pw_now_us(void) { return 1; }

struct place {
        struct pw_daemon daemon;
        char folder[40], *items[1], path[64], other[64];
};

static int begin(void **state)
{
        struct place *place = calloc(1, sizeof *place);

        assert_non_null(place);
        strcpy(place->folder, "/tmp/pathways-modules-XXXXXX");
        assert_non_null(mkdtemp(place->folder));
        snprintf(place->path, sizeof place->path, "%s/one.so", place->folder);
        snprintf(place->other, sizeof place->other, "%s/other", place->folder);
        place->items[0] = place->folder;
        place->daemon.settings.modules = (struct pw_text_list){ place->items, 1 };
        place->daemon.log.fd = -1;
        place->daemon.loop.base = event_base_new();
        overhead = 0;
        assert_int_equal(pw_modules_new(&place->daemon, &place->daemon.modules, NULL), PW_OK);
        *state = place;
        return 0;
}

static int end(void **state)
{
        struct place *place = *state;

        pw_modules_free(place->daemon.modules);
        assert_int_equal(overhead, 0);
        event_base_free(place->daemon.loop.base);
        unlink(place->path);
        unlink(place->other);
        assert_int_equal(rmdir(place->folder), 0);
        free(place);
        return 0;
}

static void write_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
        assert_int_equal(fclose(file), 0);
}

struct found { bool done; enum pw_status status; struct pw_module_version *version; struct pw_error err; };

static void found(void *context, enum pw_status status, struct pw_module_version *version, const struct pw_error *err)
{
        struct found *found = context;

        *found = (struct found){ true, status, version, { PW_OK, "" } };
        if (status != PW_OK)
                found->err = *err;
}

static struct found ask(struct place *place, const char *name)
{
        struct found found_it = { 0 };

        pw_module_ask(&place->daemon, name, found, &found_it);
        while (!found_it.done)
                assert_int_equal(event_base_loop(place->daemon.loop.base, EVLOOP_ONCE), 0);
        return found_it;
}

static struct pw_module_version *version_of(struct place *place)
{
        struct found found_it = ask(place, "one");

        if (found_it.status != PW_OK)
                fail_msg("%s", found_it.err.text);
        return found_it.version;
}

/* And nobody uses it. */
static uint64_t digest_of(struct place *place)
{
        struct pw_module_version *version = version_of(place);
        uint64_t digest = pw_module_digest(version);

        pw_module_unuse(&place->daemon, version);
        return digest;
}

static void a_version_is_the_file_as_it_is(void **state)
{
        struct place *place = *state;
        struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
        uint64_t first, digest;

        write_file(place->path, "first");
        first = digest_of(place);
        assert_int_equal(digest_of(place), first);
        write_file(place->other, "other");
        assert_int_equal(rename(place->other, place->path), 0);
        digest = digest_of(place);
        assert_int_not_equal(digest, first);
        write_file(place->path, "first"); /* of the same size, in the same file, within the tick of its clock */
        assert_int_equal(utimensat(AT_FDCWD, place->path, times, 0), 0);
        assert_int_equal(digest_of(place), first);
        assert_int_equal(unlink(place->path), 0);
        assert_int_equal(ask(place, "one").status, PW_NOT_FOUND);
        assert_int_equal(ask(place, "../one").status, PW_INVALID);
}

static struct pw_module_file read_as(const struct place *place, const struct pw_module_mark *known)
{
        struct pw_module_file file;
        struct pw_error err;

        if (pw_module_file_read(&(struct pw_module_query){ .folders = &place->daemon.settings.modules, .name = "one",
                                                           .known = *known }, &file, &err) != PW_OK)
                fail_msg("%s", err.text);
        if (file.fd >= 0)
                close(file.fd);
        return file;
}

/* By its times a file is known to be the same only if it was older when it was read than a tick of its clock is long: what was
 * written in the same tick, into the same file, has the same times. */
static void a_young_file_is_read_again(void **state)
{
        struct place *place = *state;
        struct pw_module_mark none = { 0 }, known;

        write_file(place->path, "file");
        known = read_as(place, &none).mark;
        assert_false(known.settled);
        assert_true(read_as(place, &known).fd >= 0);
        known.settled = true;
        known.digest++; /* of what was read then: not looked at now */
        assert_int_equal(read_as(place, &known).fd, -1);
        assert_int_equal(read_as(place, &known).mark.digest, known.digest);
        write_file(place->other, "file");
        assert_int_equal(rename(place->other, place->path), 0);
        assert_true(read_as(place, &known).fd >= 0);
}

/* Who copies a file with its times (cp -p, rsync -t) over another of its size leaves one time as a trace: when the file itself was
 * changed. */
static void a_file_with_its_old_times_is_read_again(void **state)
{
        struct place *place = *state;
        struct pw_module_mark none = { 0 }, known;
        struct timespec times[2];
        struct stat info;

        write_file(place->path, "file");
        known = read_as(place, &none).mark;
        known.settled = true;
        times[0] = times[1] = known.modified;
        do { /* until the tick of its clock is over */
                write_file(place->path, "else");
                assert_int_equal(utimensat(AT_FDCWD, place->path, times, 0), 0);
                assert_int_equal(stat(place->path, &info), 0);
        } while (info.st_ctim.tv_sec == known.changed.tv_sec && info.st_ctim.tv_nsec == known.changed.tv_nsec);
        assert_memory_equal(&info.st_mtim, &known.modified, sizeof info.st_mtim);
        assert_true(read_as(place, &known).fd >= 0);
}

static void only_files_of_the_folder_are_modules(void **state)
{
        struct place *place = *state;

        assert_int_equal(mkfifo(place->path, 0600), 0);
        assert_int_equal(ask(place, "one").status, PW_BAD_MODULE);
        assert_int_equal(unlink(place->path), 0);
        assert_int_equal(symlink("/bin/sh", place->path), 0);
        assert_int_equal(ask(place, "one").status, PW_BAD_MODULE);
        assert_int_equal(unlink(place->path), 0);
        write_file(place->other, "other");
        assert_int_equal(symlink("other", place->path), 0);
        assert_int_equal(ask(place, "one").status, PW_OK);
        assert_int_equal(unlink(place->path), 0);
        write_file(place->path, "");
        assert_int_equal(ask(place, "one").status, PW_BAD_MODULE);
        assert_int_equal(truncate(place->path, INT64_C(40) << 30), 0);
        assert_int_equal(ask(place, "one").status, PW_BAD_MODULE);
}

/* What is in use is kept up to a limit, and of what is not the latest few. */
static void what_is_kept_is_bounded(void **state)
{
        struct place *place = *state;
        struct pw_module_uses *uses = NULL;
        struct found refused;
        char text[16];

        for (int i = 0; i < 40; i++) {
                snprintf(text, sizeof text, "%06d", i);
                write_file(place->path, text);
                digest_of(place);
        }
        assert_int_equal(pw_modules_bytes(place->daemon.modules), PW_MODULE_IDLE_MAX * 6);
        for (uint32_t i = 0; i < PW_MODULE_VERSIONS_MAX; i++) {
                snprintf(text, sizeof text, "%06u", 1000 + i);
                write_file(place->path, text);
                assert_true(pw_module_uses_take(&uses, version_of(place)));
        }
        assert_int_equal(pw_modules_bytes(place->daemon.modules), PW_MODULE_VERSIONS_MAX * 6);
        assert_int_equal(overhead, PW_MODULE_VERSIONS_MAX * 6);
        write_file(place->path, "more");
        refused = ask(place, "one");
        assert_int_equal(refused.status, PW_LIMIT);
        pw_module_uses_drop(&place->daemon, uses);
        free(uses);
        assert_int_equal(pw_modules_bytes(place->daemon.modules), PW_MODULE_IDLE_MAX * 6);
        digest_of(place);
}

/* Who has left is not answered, whoever asked for the same is. */
static void who_leaves_is_forgotten(void **state)
{
        struct place *place = *state;
        struct found one = { 0 }, two = { 0 };
        struct pw_module_asker *asker;

        write_file(place->path, "file");
        asker = pw_module_ask(&place->daemon, "one", found, &one);
        pw_module_ask(&place->daemon, "one", found, &two);
        pw_module_forget(asker);
        while (!two.done)
                assert_int_equal(event_base_loop(place->daemon.loop.base, EVLOOP_ONCE), 0);
        assert_false(one.done);
        assert_int_equal(two.status, PW_OK);
        pw_module_unuse(&place->daemon, two.version);
        pw_module_ask(&place->daemon, "one", found, &one); /* and the end does not wait for it */
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
        const struct CMUnitTest tests[] = { TEST(a_version_is_the_file_as_it_is), TEST(a_young_file_is_read_again),
                                            TEST(a_file_with_its_old_times_is_read_again),
                                            TEST(only_files_of_the_folder_are_modules),
                                            TEST(what_is_kept_is_bounded), TEST(who_leaves_is_forgotten) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
