/* Tests that start their daemon themselves, in a folder that is there before: with files of their own, or so that it refuses.
 */
#ifndef PW_TESTS_INTEGRATION_FOLDER_H
#define PW_TESTS_INTEGRATION_FOLDER_H

#include "tests/integration/harness.h"

#define IT_SMALL "--devices", "emulated:2", "--host-memory", "64MiB", "--device-memory", "4MiB"

/* For cmocka: *state is an it_host in a folder of its own, without a daemon. */
int it_setup_folder(void **state);
int it_remove_folder(void **state);
#define IT_FOLDER_TEST(test) cmocka_unit_test_setup_teardown(test, it_setup_folder, it_remove_folder)
/* A daemon of two devices, and a session. */
int it_setup_small(void **state);

/* A daemon that must start, with a sentence where it does not. */
void it_start(struct it_host *host, const char *const *args);
/* A daemon that must not start; what it says last has each of the texts, separated by '|'. */
void it_refuses_to_start(struct it_host *host, const char *const *args, const char *texts);
/* One of the lines of its log has the text. */
bool it_has_said(const struct it_host *host, const char *text);
void it_write_file(const char *path, const char *text);
/* A daemon that must start, with a configuration file of this text; and another text, which it is told to read. */
void it_start_configured(struct it_host *host, const char *text);
void it_reload(const struct it_host *host, const char *text);

#endif
