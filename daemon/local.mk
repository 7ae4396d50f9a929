# daemon: libdaemon.la is everything but main(), also for tests that run a daemon in a thread.
sbin_PROGRAMS += daemon/pathwaysd
daemon_pathwaysd_SOURCES = daemon/main.c
daemon_pathwaysd_LDADD = $(daemon_libraries)
noinst_LTLIBRARIES += daemon/libdaemon.la
daemon_libdaemon_la_LIBTOOLFLAGS = --tag=disable-shared
daemon_libdaemon_la_SOURCES = daemon/alarm.c daemon/attach.c daemon/audit.c daemon/backing.c daemon/cancel.c daemon/closer.c daemon/compile.c daemon/compiler.c daemon/daemon.c daemon/describe.c \
	daemon/effect.c daemon/environment.c daemon/frozen.c daemon/graph_wire.c daemon/input.c daemon/install.c daemon/kept.c daemon/lane.c daemon/limits.c daemon/look.c \
	daemon/module.c daemon/module_file.c daemon/module_look.c daemon/move.c daemon/name.c daemon/notify.c daemon/operators.c daemon/output.c \
	daemon/overhead.c daemon/process.c daemon/program.c daemon/quota.c daemon/recount.c daemon/reload.c daemon/request.c daemon/room.c \
	daemon/rundir.c daemon/segment.c daemon/session.c daemon/settings.c daemon/shapes.c daemon/slice.c daemon/submit.c daemon/tally.c daemon/tenant.c daemon/thread.c \
	daemon/transfer.c daemon/turn.c daemon/worker.c
daemon_libdaemon_la_SOURCES += daemon/own_file.c
daemon_libdaemon_la_SOURCES += daemon/child/child.c daemon/child/child_board.c daemon/child/spawn.c
daemon_libdaemon_la_SOURCES += daemon/http/health.c daemon/http/http.c daemon/http/http_address.c daemon/http/metric.c
daemon_libdaemon_la_SOURCES += daemon/inspect/blocked.c daemon/inspect/find.c daemon/inspect/list.c daemon/inspect/list_host.c \
	daemon/inspect/list_gangs.c daemon/inspect/list_object.c daemon/inspect/list_owners.c daemon/inspect/list_store.c daemon/inspect/list_work.c \
	daemon/inspect/rows.c daemon/inspect/term.c daemon/inspect/trace.c daemon/inspect/trace_log.c daemon/inspect/trace_program.c daemon/inspect/waits.c daemon/inspect/why.c \
	daemon/inspect/why_device.c daemon/inspect/why_host.c daemon/inspect/why_memory.c daemon/inspect/why_process.c daemon/inspect/why_run.c
daemon_libdaemon_la_SOURCES += daemon/meta/embedded.c daemon/meta/kinds.c
daemon_libdaemon_la_CPPFLAGS = $(AM_CPPFLAGS) -DPW_PKGLIBEXECDIR='"$(pkglibexecdir)"' -DPW_MODULEDIR='"$(moduledir)"' \
	-DPW_PREFIX='"$(prefix)"'
daemon_libraries = daemon/libdaemon.la store/libstore.la scheduler/libscheduler.la program/libprogram.la plane/libplane.la wire/libwire.la base/libbase.la \
	$(LIBEVENT_LIBS) $(PROTOBUF_C_LIBS) $(XXHASH_LIBS) -lpthread
noinst_HEADERS += daemon/alarm.h daemon/audit.h daemon/backing.h daemon/cancel.h daemon/closer.h daemon/compile.h daemon/compiler.h daemon/counters.h daemon/daemon.h daemon/describe.h daemon/effect.h \
	daemon/environment.h daemon/frozen.h daemon/graph_wire.h daemon/install.h daemon/kept.h daemon/lane.h daemon/limits.h daemon/look.h daemon/module.h \
	daemon/module_file.h daemon/module_look.h daemon/move.h daemon/name.h daemon/notify.h daemon/operators.h daemon/overhead.h daemon/program.h daemon/quota.h daemon/recount.h \
	daemon/reload.h daemon/request.h daemon/room.h daemon/rundir.h daemon/segment.h daemon/session.h daemon/settings.h daemon/shapes.h \
	daemon/slice.h daemon/submit.h daemon/tally.h daemon/tenant.h daemon/thread.h daemon/transfer.h daemon/turn.h daemon/worker.h
noinst_HEADERS += daemon/own_file.h
noinst_HEADERS += daemon/child/child.h daemon/child/child_board.h daemon/child/spawn.h
noinst_HEADERS += daemon/http/health.h daemon/http/http.h daemon/http/http_address.h daemon/http/metric.h
noinst_HEADERS += daemon/inspect/blocked.h daemon/inspect/find.h daemon/inspect/list.h daemon/inspect/rows.h daemon/inspect/term.h \
	daemon/inspect/trace.h daemon/inspect/trace_log.h daemon/inspect/trace_program.h daemon/inspect/waits.h daemon/inspect/why.h
noinst_HEADERS += daemon/meta/kinds.h daemon/meta/meta.h
EXTRA_DIST += daemon/README.md

check_PROGRAMS += daemon/closer_test daemon/compiler_test daemon/describe_test daemon/http/http_address_test daemon/inspect/trace_log_test daemon/limits_test daemon/module_test daemon/overhead_test daemon/shapes_test \
	daemon/worker_test tests/conformance/meta_test
TESTS += daemon/closer_test daemon/compiler_test daemon/describe_test daemon/http/http_address_test daemon/inspect/trace_log_test daemon/limits_test daemon/module_test daemon/overhead_test daemon/shapes_test daemon/worker_test \
	tests/conformance/meta_test
daemon_closer_test_SOURCES = daemon/closer_test.c daemon/closer.c daemon/thread.c
daemon_closer_test_LDADD = base/libbase.la $(CMOCKA_LIBS) -lpthread
daemon_compiler_test_SOURCES = daemon/compiler_test.c daemon/compiler.c daemon/thread.c
daemon_compiler_test_LDADD = base/libbase.la $(LIBEVENT_LIBS) $(CMOCKA_LIBS) -lpthread
daemon_describe_test_SOURCES = daemon/describe_test.c daemon/describe.c
daemon_describe_test_LDADD = wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS) $(XXHASH_LIBS) $(CMOCKA_LIBS)
daemon_http_http_address_test_SOURCES = daemon/http/http_address_test.c daemon/http/http_address.c
daemon_http_http_address_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_inspect_trace_log_test_SOURCES = daemon/inspect/trace_log_test.c daemon/inspect/trace_log.c
daemon_inspect_trace_log_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_limits_test_SOURCES = daemon/limits_test.c daemon/limits.c
daemon_limits_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_module_test_SOURCES = daemon/module_test.c daemon/module.c daemon/module_file.c daemon/module_look.c daemon/thread.c
daemon_module_test_LDADD = wire/libwire.la base/libbase.la $(LIBEVENT_LIBS) $(PROTOBUF_C_LIBS) $(XXHASH_LIBS) $(CMOCKA_LIBS) -lpthread
daemon_overhead_test_SOURCES = daemon/overhead_test.c daemon/overhead.c
daemon_overhead_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_shapes_test_SOURCES = daemon/shapes_test.c daemon/shapes.c
daemon_shapes_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_worker_test_SOURCES = daemon/worker_test.c daemon/worker.c daemon/thread.c
daemon_worker_test_LDADD = plane/libplane.la base/libbase.la $(LIBEVENT_LIBS) $(CMOCKA_LIBS) -lpthread
tests_conformance_meta_test_SOURCES = tests/conformance/meta_test.c daemon/meta/kinds.c daemon/meta/embedded.c daemon/own_file.c
tests_conformance_meta_test_LDADD = base/libbase.la $(CMOCKA_LIBS)

# What an installed service consists of besides.
EXTRA_DIST += daemon/systemd/pathwaysd.service.in daemon/systemd/pathways.conf daemon/systemd/sysusers.d/pathways.conf \
	daemon/systemd/tmpfiles.d/pathways.conf
if WITH_SYSTEMD
sysusersdir = $(prefix)/lib/sysusers.d
tmpfilesdir = $(prefix)/lib/tmpfiles.d
systemdsystemunit_DATA = daemon/systemd/pathwaysd.service
sysusers_DATA = daemon/systemd/sysusers.d/pathways.conf
tmpfiles_DATA = daemon/systemd/tmpfiles.d/pathways.conf
CLEANFILES += daemon/systemd/pathwaysd.service
daemon/systemd/pathwaysd.service: daemon/systemd/pathwaysd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) daemon/systemd && \
		sed -e 's|@sbindir''@|$(sbindir)|' -e 's|@sysconfdir''@|$(sysconfdir)|' $(srcdir)/daemon/systemd/pathwaysd.service.in >$@
endif
