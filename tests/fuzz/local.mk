# A target for each decoder, ring and checker that meets what others wrote. `make check` replays the corpus; in a tree configured
# with CC=clang --enable-fuzz, `make fuzz` looks for more.
FUZZ_SECONDS = 60
fuzz_programs = tests/fuzz/entry_fuzz tests/fuzz/frame_fuzz tests/fuzz/graph_fuzz tests/fuzz/rows_fuzz tests/fuzz/store_fuzz  \
	tests/fuzz/text_fuzz
fuzz_programs += tests/fuzz/lane_fuzz tests/fuzz/board_fuzz tests/fuzz/module_fuzz tests/fuzz/trace_fuzz
fuzz_programs += tests/fuzz/answer_fuzz tests/fuzz/hint_fuzz tests/fuzz/image_fuzz tests/fuzz/settings_fuzz
fuzz_programs += tests/fuzz/core_fuzz tests/fuzz/mark_fuzz tests/fuzz/request_fuzz tests/fuzz/state_fuzz
fuzz_programs += tests/fuzz/hosts/borrow_fuzz tests/fuzz/hosts/peer_fuzz tests/fuzz/hosts/talk_fuzz
fuzz_programs += tests/fuzz/hosts/name_fuzz tests/fuzz/hosts/page_fuzz tests/fuzz/hosts/transport_fuzz
fuzz_programs += tests/fuzz/hosts/pull_fuzz tests/fuzz/hosts/pull_message_fuzz
noinst_HEADERS += tests/fuzz/fuzz.h tests/fuzz/stand_in/host.h
check_PROGRAMS += $(fuzz_programs)
if FUZZ
fuzz_main =
else
fuzz_main = tests/fuzz/replay.c
TESTS += $(fuzz_programs)
endif
fuzz_flags = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

tests_fuzz_answer_fuzz_SOURCES = tests/fuzz/answer_fuzz.c tests/fuzz/stand_in/answer_play.c tests/fuzz/stand_in/answer_play.h \
	$(fuzz_main)
tests_fuzz_answer_fuzz_LDADD = libclient/libclient.la
tests_fuzz_answer_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_core_fuzz_SOURCES = tests/fuzz/core_fuzz.c $(fuzz_main)
tests_fuzz_core_fuzz_LDADD = scheduler/libscheduler.la base/libbase.la
tests_fuzz_core_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_entry_fuzz_SOURCES = tests/fuzz/entry_fuzz.c $(fuzz_main)
tests_fuzz_entry_fuzz_LDADD = plane/libplane.la base/libbase.la
tests_fuzz_entry_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_frame_fuzz_SOURCES = tests/fuzz/frame_fuzz.c $(fuzz_main)
tests_fuzz_frame_fuzz_LDADD = wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS)
tests_fuzz_frame_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_graph_fuzz_SOURCES = tests/fuzz/graph_fuzz.c daemon/work/graph_wire.c program/graph/graph_make.c $(fuzz_main)
tests_fuzz_graph_fuzz_LDADD = program/libprogram.la plane/libplane.la wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS)  \
	$(CMOCKA_LIBS)
tests_fuzz_graph_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hint_fuzz_SOURCES = tests/fuzz/hint_fuzz.c $(fuzz_main)
tests_fuzz_hint_fuzz_LDADD = plane/libplane.la base/libbase.la
tests_fuzz_hint_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_image_fuzz_SOURCES = tests/fuzz/image_fuzz.c program/graph/graph_make.c $(fuzz_main)
tests_fuzz_image_fuzz_LDADD = program/libprogram.la plane/libplane.la base/libbase.la $(CMOCKA_LIBS)
tests_fuzz_image_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_settings_fuzz_SOURCES = tests/fuzz/settings_fuzz.c $(fuzz_main)
tests_fuzz_settings_fuzz_LDADD = $(daemon_libraries)
tests_fuzz_settings_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_mark_fuzz_SOURCES = tests/fuzz/mark_fuzz.c $(executor_fixture) $(fuzz_main)
tests_fuzz_mark_fuzz_LDADD = $(executor_test_libraries)
tests_fuzz_mark_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hosts_peer_fuzz_SOURCES = tests/fuzz/hosts/peer_fuzz.c daemon/peer/codec.c $(fuzz_main)
tests_fuzz_hosts_peer_fuzz_LDADD = cluster/libcluster.la wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS)
tests_fuzz_hosts_peer_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hosts_name_fuzz_SOURCES = tests/fuzz/hosts/name_fuzz.c daemon/peer/name/name_codec.c $(fuzz_main)
tests_fuzz_hosts_name_fuzz_LDADD = store/libstore.la cluster/libcluster.la plane/libplane.la wire/libwire.la base/libbase.la \
	$(PROTOBUF_C_LIBS)
tests_fuzz_hosts_name_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hosts_page_fuzz_SOURCES = tests/fuzz/hosts/page_fuzz.c daemon/peer/page/page_codec.c $(fuzz_main)
tests_fuzz_hosts_page_fuzz_LDADD = cluster/libcluster.la wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS)
tests_fuzz_hosts_page_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hosts_borrow_fuzz_SOURCES = tests/fuzz/hosts/borrow_fuzz.c $(fuzz_main)
tests_fuzz_hosts_borrow_fuzz_LDADD = cluster/libcluster.la base/libbase.la
tests_fuzz_hosts_borrow_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hosts_talk_fuzz_SOURCES = tests/fuzz/hosts/talk_fuzz.c $(fuzz_main)
tests_fuzz_hosts_talk_fuzz_LDADD = cluster/libcluster.la base/libbase.la
tests_fuzz_hosts_talk_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hosts_pull_fuzz_SOURCES = tests/fuzz/hosts/pull_fuzz.c $(fuzz_main)
tests_fuzz_hosts_pull_fuzz_LDADD = cluster/libcluster.la base/libbase.la
tests_fuzz_hosts_pull_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hosts_pull_message_fuzz_SOURCES = tests/fuzz/hosts/pull_message_fuzz.c $(fuzz_main)
tests_fuzz_hosts_pull_message_fuzz_LDADD = cluster/libcluster.la base/libbase.la
tests_fuzz_hosts_pull_message_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_request_fuzz_SOURCES = tests/fuzz/request_fuzz.c tests/integration/frame.c tests/integration/frame.h  \
	tests/threads/inside.c $(fuzz_main)
tests_fuzz_request_fuzz_LDADD = $(daemon_libraries) $(CMOCKA_LIBS)
tests_fuzz_request_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_state_fuzz_SOURCES = tests/fuzz/state_fuzz.c $(fuzz_main)
tests_fuzz_state_fuzz_LDADD = $(daemon_libraries)
tests_fuzz_state_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_rows_fuzz_SOURCES = tests/fuzz/rows_fuzz.c $(fuzz_main)
tests_fuzz_rows_fuzz_LDADD = cli/libcli.la
tests_fuzz_rows_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_store_fuzz_SOURCES = tests/fuzz/store_fuzz.c $(store_fixture) $(fuzz_main)
tests_fuzz_store_fuzz_LDADD = $(store_test_libs)
tests_fuzz_store_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_text_fuzz_SOURCES = tests/fuzz/text_fuzz.c $(fuzz_main)
tests_fuzz_text_fuzz_LDADD = cli/libcli.la
tests_fuzz_text_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_hosts_transport_fuzz_SOURCES = tests/fuzz/hosts/transport_fuzz.c $(fuzz_main)
tests_fuzz_hosts_transport_fuzz_LDADD = daemon/libtransport.la base/libbase.la $(OPENSSL_LIBS)
tests_fuzz_hosts_transport_fuzz_LDFLAGS = $(fuzz_flags)

# What plays with a whole daemon.
fuzz_daemon = tests/fuzz/stand_in/host.c $(store_fixture) program/graph/graph_make.c daemon/child/arena.c daemon/child/child_board.c \
	daemon/effect.c daemon/inspect/trace/states.c daemon/inspect/trace/trace.c daemon/inspect/trace/trace_answer.c \
	daemon/inspect/trace/trace_log.c daemon/inspect/trace/trace_program.c \
	daemon/session/complaint.c daemon/session/kept.c daemon/client/lane.c daemon/client/lane_end.c daemon/client/scan.c daemon/work/submit.c daemon/loop/timer.c daemon/loop/turn.c
fuzz_host = $(fuzz_daemon) $(fuzz_main)
fuzz_host_libs = daemon/libboard.la scheduler/libscheduler.la store/libstore.la program/libprogram.la plane/libplane.la  \
	wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS) $(CMOCKA_LIBS)
tests_fuzz_lane_fuzz_SOURCES = tests/fuzz/lane_fuzz.c $(fuzz_host)
tests_fuzz_lane_fuzz_LDADD = $(fuzz_host_libs)
tests_fuzz_lane_fuzz_LDFLAGS = $(fuzz_flags)
check_PROGRAMS += tests/fuzz/lane_test
TESTS += tests/fuzz/lane_test
tests_fuzz_lane_test_SOURCES = tests/fuzz/lane_test.c $(fuzz_daemon)
tests_fuzz_lane_test_LDADD = $(fuzz_host_libs)
tests_fuzz_board_fuzz_SOURCES = tests/fuzz/board_fuzz.c $(fuzz_host)
tests_fuzz_board_fuzz_LDADD = $(fuzz_host_libs)
tests_fuzz_board_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_module_fuzz_SOURCES = tests/fuzz/module_fuzz.c $(fuzz_main)
tests_fuzz_module_fuzz_LDADD = executor/libexecutor.la
tests_fuzz_module_fuzz_LDFLAGS = $(fuzz_flags)
tests_fuzz_trace_fuzz_SOURCES = tests/fuzz/trace_fuzz.c $(fuzz_main)
tests_fuzz_trace_fuzz_LDADD = cli/libcli.la
tests_fuzz_trace_fuzz_LDFLAGS = $(fuzz_flags)

dist_check_SCRIPTS += tests/fuzz/fuzz.sh
EXTRA_DIST += tests/fuzz/README.md tests/fuzz/replay.c
dist-hook: dist-corpus
dist-corpus:
	cp -R '$(srcdir)/tests/fuzz/corpus' '$(distdir)/tests/fuzz/corpus'
.PHONY: dist-corpus

# What is found first is left in the folder fuzz/ of the build tree. Two targets start executors, with the modules of the tree.
fuzz: all
	$(MAKE) $(AM_MAKEFLAGS) $(fuzz_programs) tests/integration/modules/broken.la
	$(AM_TESTS_ENVIRONMENT) FUZZ_SECONDS='$(FUZZ_SECONDS)' '$(srcdir)/tests/fuzz/fuzz.sh' $(fuzz_programs)
.PHONY: fuzz
