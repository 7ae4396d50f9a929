/* Listings of many objects come in parts and in pages: each object once, as many rows as were asked for, while others go on. */
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OBJECTS 5000u

static struct pw_future **put_all(struct pw_session *session)
{
        struct pw_future **futures = calloc(OBJECTS, sizeof *futures);

        assert_non_null(futures);
        for (uint32_t i = 0; i < OBJECTS; i++)
                assert_int_equal(pw_put(session, &i, sizeof i, NULL, &futures[i], NULL), PW_OK);
        return futures;
}

static void unref_all(struct pw_future **futures)
{
        for (uint32_t i = 0; i < OBJECTS; i++)
                pw_unref(futures[i]);
        free(futures);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void each_object_is_listed_once(void **state)
{
        struct it_host *host = *state;
        struct pw_future **futures = put_all(host->session);
        struct pw_listing *all = it_list(host->session, "objects", NULL);
        const char **listed = calloc(OBJECTS, sizeof *listed);
        char (*ids)[PW_ID_TEXT_BYTES] = calloc(OBJECTS, sizeof *ids);

        assert_int_equal(it_rows(all), OBJECTS);
        assert_false(pw_listing_rows(all)->truncated);
        for (uint32_t i = 0; i < OBJECTS; i++)
                listed[i] = it_text(all, i, "id");
        qsort(listed, OBJECTS, sizeof *listed, by_text);
        for (uint32_t i = 0; i < OBJECTS; i++) {
                const char *id = pw_id_format(pw_future_id(futures[i]), ids[i]);

                assert_non_null(bsearch(&id, listed, OBJECTS, sizeof *listed, by_text));
                assert_true(i == 0 || strcmp(listed[i - 1], listed[i]) < 0);
        }
        free(ids);
        free(listed);
        pw_listing_free(all);
        assert_int_equal(it_listed(host->session, "status", "objects"), OBJECTS);
        assert_int_equal(it_listed(host->session, "owners", "objects"), OBJECTS);
        unref_all(futures);
}

/* 0 is no limit. */
static void all_of_very_many(void **state)
{
        enum { MANY = 100010 };
        struct it_host *host = *state;
        struct pw_future **futures = calloc(MANY, sizeof *futures);

        assert_non_null(futures);
        for (uint32_t i = 0; i < MANY; i++)
                assert_int_equal(pw_put(host->session, &i, sizeof i, NULL, &futures[i], NULL), PW_OK);
        struct pw_listing *all = it_list(host->session, "objects", NULL);
        assert_int_equal(it_rows(all), MANY);
        assert_false(pw_listing_rows(all)->truncated);
        pw_listing_free(all);
        for (uint32_t i = 0; i < MANY; i++)
                pw_unref(futures[i]);
        free(futures);
}

static void listed_with(struct pw_session *session, const char *filter, uint32_t limit, size_t rows, bool truncated)
{
        struct pw_listing *listing;
        struct pw_error err;

        assert_int_equal(pw_list(session, "objects", filter, limit, &listing, &err), PW_OK);
        assert_int_equal(it_rows(listing), rows);
        assert_int_equal(pw_listing_rows(listing)->truncated, truncated);
        pw_listing_free(listing);
}

/* The rows that do not fit leave no cells in those that do. */
static void an_object_in_one_row(void **state)
{
        struct it_host *host = *state;
        struct pw_future *value;
        struct pw_listing *listing;
        char id[PW_ID_TEXT_BYTES];

        it_ok(pw_put(host->session, "x", 1, NULL, &value, IT_ERR));
        pw_id_format(pw_future_id(value), id);
        it_ok(pw_list(host->session, "object", id, 1, &listing, IT_ERR));
        assert_int_equal(it_rows(listing), 1);
        assert_true(pw_listing_rows(listing)->truncated);
        assert_string_equal(it_text(listing, 0, "part"), "object");
        assert_string_equal(it_text(listing, 0, "holder"), "");
        pw_listing_free(listing);
        pw_unref(value);
}

static void no_more_rows_than_asked_for(void **state)
{
        struct it_host *host = *state;
        struct pw_future **futures = put_all(host->session);
        char id[PW_ID_TEXT_BYTES];

        listed_with(host->session, NULL, OBJECTS - 1, OBJECTS - 1, true);
        listed_with(host->session, NULL, OBJECTS, OBJECTS, false);
        listed_with(host->session, NULL, OBJECTS + 1, OBJECTS, false);
        listed_with(host->session, NULL, 1, 1, true);
        listed_with(host->session, pw_id_format(pw_future_id(futures[OBJECTS / 2]), id), 0, 1, false);
        unref_all(futures);
        listed_with(host->session, NULL, 0, 0, false); /* what was let go of before is not there any more */
}

static int list_for_ever(void *context, int pipe)
{
        const struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_listing *listing;

        while (pw_list(session, "owners", NULL, 0, &listing, NULL) == PW_OK) {
                pw_listing_free(listing);
                if (write(pipe, "", 1) != 1)
                        break;
        }
        return 0;
}

/* Who asks is killed in the middle; listings of others go on. */
static void who_asks_may_go(void **state)
{
        struct it_host *host = *state;
        struct pw_future **futures = put_all(host->session);
        char byte;

        for (int i = 0; i < 8; i++) {
                struct it_child child = it_fork(list_for_ever, host);

                for (int j = 0; j < i + 1; j++)
                        it_read(&child, &byte, 1);
                it_reap(&child, SIGKILL);
                assert_int_equal(it_listed(host->session, "status", "objects"), OBJECTS);
        }
        unref_all(futures);
}

static bool keeps_programs(const struct pw_listing *owners, void *context)
{
        bool keeps = false;

        for (size_t i = 0; i < it_rows(owners); i++)
                keeps |= strstr(it_text(owners, i, "kept"), "programs ") != NULL;
        return keeps == *(const bool *)context;
}

/* A slice is charged as programs are, and no more once it is closed. */
static void what_is_kept_of_slices(void **state)
{
        struct it_host *host = *state;
        struct pw_slice *slices[8];

        for (int i = 0; i < 8; i++)
                slices[i] = it_slice(host->session, 4, 1);
        it_until(host->session, "owners", keeps_programs, &(bool){ true });
        for (int i = 0; i < 8; i++)
                pw_slice_close(slices[i]);
        it_until(host->session, "owners", keeps_programs, &(bool){ false });
}

/* So many that the table of them is on its way to a larger one. */
static void many_slices_go_with_their_session(void **state)
{
        struct it_host *host = *state;
        struct pw_session *session = it_connect(host);
        static struct pw_slice *slices[6200];

        for (int i = 0; i < 6200; i++)
                slices[i] = it_slice(session, 1, 1);
        it_until(host->session, "owners", keeps_programs, &(bool){ true });
        pw_close(session);
        it_until(host->session, "owners", keeps_programs, &(bool){ false });
        for (int i = 0; i < 6200; i++)
                pw_slice_close(slices[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(each_object_is_listed_once), IT_TEST(all_of_very_many),
                IT_TEST(no_more_rows_than_asked_for), IT_TEST(an_object_in_one_row),
                IT_TEST(who_asks_may_go), IT_TEST(what_is_kept_of_slices),
                IT_TEST(many_slices_go_with_their_session),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
