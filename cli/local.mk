# The `pathways` command. cli/libcli.la is all of it but main(), for the tests beside the files.
noinst_LTLIBRARIES += cli/libcli.la
cli_libcli_la_SOURCES = cli/commands.c cli/form.c cli/grid.c cli/inspect.c cli/json.c cli/list.c cli/object.c cli/output.c cli/run.c \
	cli/chrome.c cli/trace.c cli/usage.c cli/value.c cli/wait.c
cli_libcli_la_SOURCES += cli/cancel.c
cli_libcli_la_LIBADD = libclient/libclient.la $(JANSSON_LIBS)
noinst_HEADERS += cli/chrome.h cli/command.h cli/form.h cli/grid.h cli/output.h cli/usage.h

bin_PROGRAMS += cli/pathways
cli_pathways_SOURCES = cli/main.c
cli_pathways_LDADD = cli/libcli.la

cli_tests = cli/form_test cli/grid_test cli/usage_test cli/value_test
check_PROGRAMS += $(cli_tests)
cli_form_test_LDADD = cli/libcli.la $(CMOCKA_LIBS)
cli_grid_test_LDADD = cli/libcli.la $(CMOCKA_LIBS)
cli_usage_test_LDADD = cli/libcli.la $(CMOCKA_LIBS)
cli_value_test_LDADD = cli/libcli.la $(CMOCKA_LIBS)
dist_check_SCRIPTS += cli/manual_test.sh
TESTS += $(cli_tests) cli/manual_test.sh
EXTRA_DIST += cli/README.md
