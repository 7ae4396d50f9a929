# daemon
sbin_PROGRAMS += daemon/pathwaysd
daemon_pathwaysd_SOURCES = daemon/main.c daemon/settings.c daemon/environment.c daemon/reload.c daemon/notify.c daemon/daemon.c daemon/turn.c daemon/effect.c daemon/rundir.c \
	daemon/limits.c daemon/install.c daemon/tenant.c daemon/backing.c daemon/segment.c daemon/session.c daemon/output.c daemon/process.c \
	daemon/attach.c daemon/request.c daemon/lane.c daemon/submit.c daemon/room.c daemon/name.c daemon/cancel.c daemon/worker.c \
	daemon/module.c daemon/describe.c daemon/program.c daemon/graph_wire.c daemon/slice.c daemon/child.c \
	daemon/child_board.c daemon/spawn.c daemon/overhead.c daemon/rows.c daemon/list.c daemon/list_host.c \
	daemon/list_store.c daemon/list_work.c daemon/why.c daemon/find.c daemon/frozen.c daemon/list_object.c daemon/waits.c daemon/trace.c daemon/transfer.c daemon/meta/kinds.c daemon/meta/embedded.c
daemon_pathwaysd_SOURCES += daemon/why_device.c daemon/why_memory.c daemon/why_process.c daemon/why_run.c
noinst_HEADERS += daemon/cancel.h daemon/move.h
daemon_pathwaysd_SOURCES += daemon/term.c daemon/metric.c daemon/health.c daemon/http_address.c daemon/http.c
daemon_pathwaysd_CPPFLAGS = $(AM_CPPFLAGS) -DPW_PKGLIBEXECDIR='"$(pkglibexecdir)"' -DPW_MODULEDIR='"$(moduledir)"' \
	-DPW_PREFIX='"$(prefix)"'
daemon_pathwaysd_SOURCES += daemon/list_owners.c daemon/operators.c daemon/quota.c daemon/move.c
daemon_pathwaysd_LDADD = store/libstore.la scheduler/libscheduler.la plane/libplane.la wire/libwire.la base/libbase.la \
	$(LIBEVENT_LIBS) $(PROTOBUF_C_LIBS) $(XXHASH_LIBS) -lpthread
noinst_HEADERS += daemon/backing.h daemon/child_board.h daemon/child.h daemon/daemon.h daemon/describe.h daemon/effect.h daemon/find.h daemon/frozen.h daemon/graph_wire.h \
	daemon/install.h daemon/lane.h daemon/limits.h daemon/list.h daemon/meta/kinds.h daemon/meta/meta.h daemon/module.h \
	daemon/name.h daemon/operators.h daemon/overhead.h daemon/program.h daemon/quota.h daemon/request.h daemon/room.h daemon/rows.h daemon/rundir.h \
	daemon/segment.h daemon/session.h daemon/settings.h daemon/slice.h daemon/spawn.h daemon/submit.h daemon/tenant.h \
	daemon/trace.h daemon/transfer.h daemon/turn.h daemon/waits.h daemon/worker.h
noinst_HEADERS += daemon/counters.h daemon/environment.h daemon/health.h daemon/http.h daemon/http_address.h daemon/metric.h \
	daemon/notify.h daemon/reload.h daemon/term.h daemon/why.h
EXTRA_DIST += daemon/README.md

check_PROGRAMS += daemon/limits_test
TESTS += daemon/limits_test
daemon_limits_test_SOURCES = daemon/limits_test.c daemon/limits.c
daemon_limits_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
check_PROGRAMS += daemon/describe_test daemon/module_test daemon/http_address_test tests/conformance/meta_test
TESTS += daemon/describe_test daemon/module_test daemon/http_address_test tests/conformance/meta_test
daemon_describe_test_SOURCES = daemon/describe_test.c daemon/describe.c
daemon_module_test_SOURCES = daemon/module_test.c daemon/module.c
daemon_module_test_LDADD = wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS) $(XXHASH_LIBS) $(CMOCKA_LIBS)
daemon_describe_test_LDADD = wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS) $(XXHASH_LIBS) $(CMOCKA_LIBS)
daemon_http_address_test_SOURCES = daemon/http_address_test.c daemon/http_address.c
daemon_http_address_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
tests_conformance_meta_test_SOURCES = tests/conformance/meta_test.c daemon/meta/kinds.c daemon/meta/embedded.c
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
