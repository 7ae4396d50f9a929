# The `pathways` command. cli/libcli.la is all of it but main(), for the tests beside the files.
noinst_LTLIBRARIES += cli/libcli.la
cli_libcli_la_SOURCES = cli/act/cancel.c cli/act/drain.c cli/act/move.c cli/act/transfer.c cli/chrome.c cli/commands.c \
	cli/completion.c cli/inspect.c cli/list.c cli/memory.c cli/object.c cli/print/form.c cli/print/grid.c cli/print/json.c \
	cli/print/output.c cli/print/watch.c cli/run.c cli/top.c cli/trace.c cli/usage.c cli/value.c cli/wait.c
cli_libcli_la_LIBADD = libclient/libclient.la $(JANSSON_LIBS) $(NCURSES_LIBS)
noinst_HEADERS += cli/chrome.h cli/command.h cli/deadline.h cli/print/form.h cli/print/grid.h cli/print/output.h cli/print/watch.h \
	cli/usage.h

bin_PROGRAMS += cli/pathways
cli_pathways_SOURCES = cli/main.c
cli_pathways_LDADD = cli/libcli.la

cli_tests = cli/print/form_test cli/print/grid_test cli/usage_test cli/value_test
check_PROGRAMS += $(cli_tests)
cli_print_form_test_LDADD = cli/libcli.la $(CMOCKA_LIBS)
cli_print_grid_test_LDADD = cli/libcli.la $(CMOCKA_LIBS)
cli_usage_test_LDADD = cli/libcli.la $(CMOCKA_LIBS)
cli_value_test_LDADD = cli/libcli.la $(CMOCKA_LIBS)
dist_check_SCRIPTS += cli/manual_test.sh cli/completion_test.sh
TESTS += $(cli_tests) cli/manual_test.sh cli/completion_test.sh

# From the table of subcommands, by the program that has it.
completiondir = $(datadir)/bash-completion/completions
nodist_completion_DATA = cli/completion/pathways
CLEANFILES += cli/completion/pathways
cli/completion/pathways: cli/pathways
	$(AM_V_GEN)$(MKDIR_P) cli/completion && cli/pathways --completion >$@
EXTRA_DIST += cli/README.md
