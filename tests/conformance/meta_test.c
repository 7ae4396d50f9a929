/* Every kind of metadata keeps the contract of daemon/meta/meta.h. */
#include "base/memory.h"
#include "daemon/meta/meta.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

struct setting {
        char folder[64], state[96];
};

static int make_folder(void **state)
{
        struct setting *setting = calloc(1, sizeof *setting);

        if (!setting)
                return -1;
        snprintf(setting->folder, sizeof setting->folder, "/tmp/pw-meta-XXXXXX");
        *state = setting;
        if (!mkdtemp(setting->folder))
                return -1;
        snprintf(setting->state, sizeof setting->state, "%s/not/there/yet", setting->folder);
        return 0;
}

static void remove_tree(const char *path)
{
        DIR *folder = opendir(path);
        struct dirent *entry;

        while (folder && (entry = readdir(folder))) {
                char inner[600];

                if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
                        continue;
                snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
                if (unlink(inner) < 0)
                        remove_tree(inner);
        }
        if (folder)
                closedir(folder);
        rmdir(path);
}

static int drop_folder(void **state)
{
        struct setting *setting = *state;

        remove_tree(setting->folder);
        free(setting);
        return 0;
}

static struct pw_meta *join(const struct pw_meta_kind *kind, const struct setting *setting, uint32_t now_s,
                            struct pw_meta_host *ret_host)
{
        struct pw_meta_params params = { .state_dir = setting->state, .now_s = now_s };
        struct pw_meta *meta = NULL;
        struct pw_error err = { .text = "" };

        if (kind->open(&params, &meta, ret_host, &err) != PW_OK)
                fail_msg("%s: %s", kind->name, err.text);
        assert_ptr_equal(meta->kind, kind);
        return meta;
}

/* The clock may stand still or go back: the epoch never does. */
static void test_epochs_only_rise(void **state)
{
        static const uint32_t clocks[] = { 1000, 1000, 1000, 7, 1002, 5000 };
        const struct pw_meta_kind *kind;

        for (uint32_t i = 0; (kind = pw_meta_kind_at(i)); i++) {
                uint32_t last = 0;

                for (uint32_t j = 0; j < pw_array_count(clocks); j++) {
                        struct pw_meta_host host = { 99, 0 };
                        struct pw_meta *meta = join(kind, *state, clocks[j], &host);

                        assert_true(host.epoch > last);
                        assert_true(host.epoch >= clocks[j]);
                        assert_true(host.host < 0xffff);
                        last = host.epoch;
                        pw_meta_close(meta);
                }
        }
}

static void test_names(void **state)
{
        const struct pw_id first = { 1, 2, 3 }, second = { 4, 5, 6 };
        const struct pw_meta_kind *kind;

        for (uint32_t i = 0; (kind = pw_meta_kind_at(i)); i++) {
                struct pw_meta_host host;
                struct pw_meta *meta = join(kind, *state, 1, &host);
                struct pw_id id;

                assert_int_equal(kind->find(meta, "ada", "weights", &id), PW_NOT_FOUND);
                pw_meta_name(meta, "ada", "weights", first);
                pw_meta_name(meta, "bo", "weights", second);
                assert_int_equal(kind->find(meta, "ada", "weights", &id), PW_OK);
                assert_true(pw_id_equal(id, first));
                pw_meta_name(meta, "ada", "weights", second);
                assert_int_equal(kind->find(meta, "ada", "weights", &id), PW_OK);
                assert_true(pw_id_equal(id, second));
                pw_meta_unname(meta, "ada", "weights", first); /* bound to another one since */
                assert_int_equal(kind->find(meta, "ada", "weights", &id), PW_OK);
                assert_true(pw_id_equal(id, second));
                pw_meta_unname(meta, "ada", "weights", second);
                pw_meta_unname(meta, "ada", "weights", second);
                assert_int_equal(kind->find(meta, "ada", "weights", &id), PW_NOT_FOUND);
                assert_int_equal(kind->find(meta, "bo", "weights", &id), PW_OK);
                pw_meta_close(meta);
        }
}

/* A state that is no number is not overwritten: another host's ids might come back. */
static void test_spoilt_state(void **state)
{
        const struct setting *setting = *state;
        struct pw_meta_params params = { .state_dir = setting->state, .now_s = 1 };
        struct pw_meta_host host = { 99, 99 };
        struct pw_meta *meta = NULL;
        struct pw_error err = { .text = "" };
        char path[128];
        FILE *file;

        pw_meta_close(join(pw_meta_kind("embedded"), setting, 1, &host));
        snprintf(path, sizeof path, "%s/epoch", setting->state);
        file = fopen(path, "w");
        assert_non_null(file);
        fputs("tomorrow\n", file);
        fclose(file);
        assert_int_equal(pw_meta_kind("embedded")->open(&params, &meta, &host, &err), PW_SYSTEM);
        assert_null(meta);
        assert_non_null(strstr(err.text, path));
}

static void test_kinds(void **state)
{
        (void)state;
        assert_ptr_equal(pw_meta_kind_at(0), pw_meta_kind("embedded"));
        assert_null(pw_meta_kind("carrier pigeons"));
        assert_null(pw_meta_kind_at(1000));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_epochs_only_rise, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_names, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_spoilt_state, make_folder, drop_folder),
                cmocka_unit_test(test_kinds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
