# daemon: libdaemon.la is everything but main(), also for tests that run a daemon in a thread.
sbin_PROGRAMS += daemon/pathwaysd
daemon_pathwaysd_SOURCES = daemon/main.c
daemon_pathwaysd_LDADD = $(daemon_libraries)
noinst_LTLIBRARIES += daemon/libdaemon.la
redis_sources = daemon/meta/redis/address.c daemon/meta/redis/answer.c daemon/meta/redis/binding.c daemon/meta/redis/entry.c \
	daemon/meta/redis/member.c daemon/meta/redis/names.c daemon/meta/redis/redis.c daemon/meta/redis/saver.c daemon/meta/redis/script.c \
	daemon/meta/redis/state.c daemon/meta/redis/table.c daemon/meta/redis/telling.c daemon/meta/redis/wire.c
daemon_libdaemon_la_LIBTOOLFLAGS = --tag=disable-shared
daemon_libdaemon_la_SOURCES = daemon/alarm.c daemon/child/arena.c daemon/child/blocked.c daemon/child/child.c daemon/child/child_board.c daemon/child/child_end.c daemon/child/limit.c \
	daemon/child/cuda_cache.c daemon/child/measure.c daemon/child/spawn.c daemon/child/stall.c daemon/child/unpin.c \
	daemon/client/attach.c daemon/client/object/foreign.c daemon/client/input.c daemon/client/lane.c daemon/client/lane_end.c daemon/client/scan.c \
	daemon/client/object/move.c daemon/client/object/name.c daemon/client/process.c daemon/client/request.c daemon/client/session.c \
	daemon/client/tally.c daemon/client/tenant.c daemon/client/object/transfer.c daemon/clock.c daemon/closer.c daemon/daemon.c \
	daemon/device/beside.c daemon/device/gpus.c daemon/device/nvml_library.c \
	daemon/effect.c daemon/http/health.c daemon/http/http.c daemon/http/metric.c \
	daemon/inspect/find.c daemon/inspect/list.c daemon/inspect/list_gangs.c daemon/inspect/list_host.c daemon/inspect/list_hosts.c \
	daemon/inspect/list_object.c daemon/inspect/list_owners.c daemon/inspect/list_peer.c daemon/inspect/list_store.c \
	daemon/inspect/list_work.c \
	daemon/inspect/observer.c daemon/inspect/rows.c daemon/inspect/term.c daemon/inspect/trace/states.c daemon/inspect/trace/trace.c \
	daemon/inspect/trace/trace_answer.c daemon/inspect/trace/trace_log.c daemon/inspect/trace/trace_peer.c \
	daemon/inspect/trace/trace_program.c daemon/inspect/waits.c \
	daemon/inspect/why/why.c daemon/inspect/why/why_device.c daemon/inspect/why/why_host.c \
	daemon/inspect/why/why_fetch.c daemon/inspect/why/why_memory.c daemon/inspect/why/why_peer.c daemon/inspect/why/why_process.c \
	daemon/inspect/why/why_run.c daemon/install.c \
	daemon/loop/calls.c daemon/loop/heap.c daemon/loop/timer.c daemon/loop/turn.c daemon/memory/audit.c daemon/memory/backing.c daemon/memory/device.c \
	daemon/memory/fetch/fetch.c daemon/memory/fetch/fetch_plan.c daemon/memory/fetch/fetch_task.c \
	daemon/memory/freezer/freezer.c daemon/memory/freezer/frozen.c daemon/memory/freezer/proxies.c \
	daemon/memory/freezer/replica.c daemon/memory/limits.c daemon/memory/overhead.c daemon/memory/pinned.c daemon/memory/recount.c daemon/memory/room.c \
	daemon/memory/lent_map.c daemon/memory/segment.c daemon/memory/worker.c daemon/meta/carry.c daemon/meta/embedded.c daemon/meta/kinds.c \
	daemon/meta/own.c daemon/meta/place.c daemon/settings/metadata.c \
	$(redis_sources) \
	daemon/module/module.c daemon/module/module_file.c daemon/module/module_probe.c daemon/notify.c daemon/own_file.c \
	daemon/peer/asks.c daemon/peer/borrowing.c daemon/peer/pull/bulk.c daemon/peer/pull/bulk_thread.c daemon/peer/call.c daemon/peer/codec.c daemon/peer/draining.c daemon/peer/fetching.c daemon/peer/known.c \
	daemon/peer/lending.c daemon/peer/name/handing.c daemon/peer/name/name_codec.c daemon/peer/name/naming.c daemon/peer/page/page_codec.c daemon/peer/page/paging.c daemon/peer/pull/offering.c daemon/peer/opening.c daemon/peer/peers.c daemon/peer/port.c daemon/peer/pull/pulling.c daemon/peer/pull/sending.c daemon/peer/pull/spread_value.c daemon/peer/pull/staging.c daemon/peer/pull/wanting.c daemon/peer/taking.c \
	daemon/rundir.c daemon/session/complaint.c daemon/session/kept.c daemon/session/object.c daemon/session/output.c \
	daemon/session/session.c \
	daemon/settings/environment.c daemon/settings/http_address.c daemon/settings/operators.c daemon/settings/quota.c \
	daemon/settings/reload.c daemon/settings/settings.c daemon/settings/tenants.c daemon/settings/weight.c daemon/thread.c daemon/work/cancel.c \
	daemon/work/compile.c daemon/work/compiler.c daemon/work/compiling.c daemon/work/ending.c daemon/work/graph_wire.c \
	daemon/work/place.c daemon/work/program.c daemon/work/shape/describe.c daemon/work/shape/shapes.c \
	daemon/work/slice.c daemon/work/submit.c
daemon_libdaemon_la_CPPFLAGS = $(AM_CPPFLAGS) -DPW_PKGLIBEXECDIR='"$(pkglibexecdir)"' -DPW_MODULEDIR='"$(moduledir)"'     \
	-DPW_PREFIX='"$(prefix)"'
daemon_libraries = daemon/libdaemon.la daemon/libtransport.la daemon/libboard.la cluster/libcluster.la scheduler/libscheduler.la store/libstore.la      \
	program/libprogram.la plane/libplane.la  wire/libwire.la base/libbase.la  $(LIBEVENT_LIBS) $(OPENSSL_LIBS) $(HIREDIS_LIBS)         \
	$(PROTOBUF_C_LIBS) $(XXHASH_LIBS) -lpthread
noinst_HEADERS += daemon/alarm.h daemon/board/boards.h daemon/board/boards_private.h daemon/child/arena.h daemon/child/blocked.h daemon/child/child.h \
	daemon/child/child_board.h daemon/child/child_end.h daemon/child/children.h daemon/child/cuda_cache.h daemon/child/limit.h daemon/child/measure.h daemon/child/spawn.h daemon/child/stall.h daemon/child/unpin.h daemon/client/client.h \
	daemon/client/clients.h daemon/client/object/foreign.h daemon/client/lane.h daemon/client/scan.h daemon/client/object/move.h daemon/client/object/name.h \
	daemon/client/observer.h daemon/client/request.h daemon/client/tally.h daemon/client/tenant.h \
	daemon/client/object/transfer.h daemon/closer.h daemon/counters.h daemon/daemon.h daemon/device/beside.h daemon/device/gpus.h daemon/device/nvml_library.h daemon/effect.h daemon/http/health.h \
	daemon/http/http.h daemon/http/metric.h daemon/inspect/find.h daemon/inspect/inspection.h \
	daemon/inspect/list.h daemon/inspect/list_peer.h daemon/inspect/observer.h daemon/inspect/rows.h daemon/inspect/term.h \
	daemon/inspect/trace/states.h daemon/inspect/trace/trace.h daemon/inspect/trace/trace_log.h \
	daemon/inspect/trace/trace_peer.h daemon/inspect/trace/trace_private.h daemon/inspect/trace/trace_program.h \
	daemon/inspect/waits.h daemon/inspect/why/why.h daemon/install.h daemon/loop.h daemon/loop/calls.h daemon/loop/heap.h daemon/loop/timer.h \
	daemon/loop/turn.h daemon/memory/audit.h daemon/memory/backing.h daemon/memory/device.h daemon/memory/fetch/fetch.h daemon/memory/fetch/fetch_private.h \
	daemon/memory/freezer/freezer.h daemon/memory/freezer/frozen.h \
	daemon/memory/freezer/proxies.h daemon/memory/freezer/replica.h \
	daemon/memory/limits.h daemon/memory/memory.h daemon/memory/overhead.h daemon/memory/recount.h daemon/memory/room.h \
	daemon/memory/lent_map.h daemon/memory/segment.h daemon/memory/worker.h daemon/meta/carried.h daemon/meta/carry.h daemon/meta/kinds.h daemon/meta/meta.h daemon/meta/own.h daemon/meta/place.h \
	daemon/settings/metadata.h daemon/meta/redis/address.h \
	daemon/meta/redis/answer.h daemon/meta/redis/member.h daemon/meta/redis/redis_private.h daemon/meta/redis/saver.h daemon/meta/redis/script.h \
	daemon/meta/redis/state.h daemon/meta/redis/wire.h \
	daemon/module/module.h daemon/module/module_file.h daemon/module/module_probe.h daemon/notify.h daemon/own_file.h \
	daemon/peer/asks.h daemon/peer/borrowed.h daemon/peer/borrowing.h daemon/peer/call.h daemon/peer/codec.h daemon/peer/draining.h daemon/peer/known.h daemon/peer/taking.h \
	daemon/peer/lending.h daemon/peer/name/handing.h daemon/peer/name/name_codec.h daemon/peer/name/naming.h daemon/peer/page/page_codec.h daemon/peer/page/paging.h daemon/session/listers.h daemon/peer/peers.h daemon/peer/peers_private.h daemon/peer/port.h daemon/peer/pull/bulk.h \
	daemon/peer/pull/bulk_private.h daemon/peer/pull/offering.h daemon/peer/pull/pulling.h daemon/peer/pull/sending.h \
	daemon/peer/pull/spread_value.h daemon/peer/pull/staging.h daemon/peer/pull/wanting.h daemon/rundir.h daemon/session/backed.h daemon/session/complaint.h daemon/session/foreign.h daemon/session/kept.h daemon/session/lane.h \
	daemon/session/object.h \
	daemon/session/output.h daemon/session/process.h daemon/session/registry.h daemon/session/session.h \
	daemon/session/speakers.h daemon/session/tenant.h daemon/settings/environment.h daemon/settings/http_address.h \
	daemon/settings/operators.h daemon/settings/quota.h daemon/settings/reload.h daemon/settings/settings.h \
	daemon/settings/tenants.h daemon/settings/weight.h daemon/thread.h daemon/wait.h daemon/work/cancel.h daemon/work/compile.h \
	daemon/work/compiler.h daemon/work/compiling.h daemon/work/ending.h daemon/work/graph_wire.h daemon/work/place.h \
	daemon/work/program.h daemon/work/shape/describe.h daemon/work/shape/shapes.h daemon/work/slice.h \
	daemon/work/submit.h daemon/work/work.h
EXTRA_DIST += daemon/README.md

# The boards, for whoever plays a host.
noinst_LTLIBRARIES += daemon/libboard.la
daemon_libboard_la_SOURCES = daemon/board/boards.c daemon/board/gangs.c daemon/board/poll.c daemon/board/prepare.c

# How hosts reach each other, for whoever plays a host.
noinst_LTLIBRARIES += daemon/libtransport.la
daemon_libtransport_la_LIBTOOLFLAGS = --tag=disable-shared
daemon_libtransport_la_SOURCES = daemon/transport/address.c daemon/transport/crew.c \
	daemon/transport/dial.c daemon/transport/handshake.c daemon/transport/greeting.c daemon/transport/kinds.c \
	daemon/transport/listener.c daemon/transport/proof/certificate.c daemon/transport/proof/challenge.c \
	daemon/transport/proof/secret.c daemon/transport/socket.c daemon/transport/stream/bulk.c daemon/transport/stream/control.c \
	daemon/transport/stream/frames.c daemon/transport/tcp.c daemon/transport/tls.c daemon/transport/transport.c \
	daemon/transport/unix.c
noinst_HEADERS += daemon/transport/address.h daemon/transport/crew.h daemon/transport/handshake.h daemon/transport/greeting.h \
	daemon/transport/kinds.h daemon/transport/pipe.h daemon/transport/proof/certificate.h \
	daemon/transport/proof/challenge.h daemon/transport/proof/secret.h daemon/transport/socket.h daemon/transport/stream/bulk.h \
	daemon/transport/stream/control.h daemon/transport/stream/frames.h daemon/transport/transport.h \
	daemon/transport/transport_private.h
EXTRA_DIST += daemon/transport/README.md
check_PROGRAMS += daemon/transport/proof/challenge_test tests/conformance/transport_tls_test tests/conformance/transport_test tests/conformance/transport_stream_test
TESTS += daemon/transport/proof/challenge_test tests/conformance/transport_tls_test tests/conformance/transport_test tests/conformance/transport_stream_test
daemon_transport_proof_challenge_test_LDADD = daemon/libtransport.la base/libbase.la $(OPENSSL_LIBS) $(CMOCKA_LIBS)
transport_place = daemon/own_file.c daemon/thread.c tests/conformance/transport/place.c tests/conformance/transport/place.h
transport_libraries = daemon/libtransport.la base/libbase.la $(LIBEVENT_LIBS) $(OPENSSL_LIBS) $(CMOCKA_LIBS) -lpthread
tests_conformance_transport_tls_test_SOURCES = tests/conformance/transport_tls_test.c $(transport_place)
tests_conformance_transport_tls_test_LDADD = $(transport_libraries)
tests_conformance_transport_test_SOURCES = tests/conformance/transport_test.c $(transport_place)
tests_conformance_transport_test_LDADD = $(transport_libraries)
tests_conformance_transport_stream_test_SOURCES = tests/conformance/transport_stream_test.c $(transport_place)
tests_conformance_transport_stream_test_LDADD = $(transport_libraries)

daemon_tests = daemon/board/boards_test daemon/child/unpin_test daemon/closer_test daemon/device/beside_test daemon/inspect/trace/trace_log_test daemon/memory/limits_test \
	daemon/memory/overhead_test daemon/memory/worker_test daemon/module/module_test daemon/settings/http_address_test daemon/settings/tenants_test \
	daemon/session/complaint_test daemon/work/compiler_test daemon/work/ending_test daemon/work/shape/describe_test \
	daemon/peer/codec_test daemon/peer/pull/sending_test daemon/peer/name/name_codec_test daemon/peer/page/page_codec_test tests/conformance/bulk_test daemon/work/shape/shapes_test \
	daemon/meta/redis/member_test tests/conformance/meta_test tests/conformance/redis_test tests/conformance/redis_refuses_test \
	tests/conformance/redis_spoilt_test
check_PROGRAMS += $(daemon_tests)
TESTS += $(daemon_tests)
daemon_board_boards_test_LDADD = daemon/libboard.la scheduler/libscheduler.la store/libstore.la program/libprogram.la plane/libplane.la \
	base/libbase.la  $(CMOCKA_LIBS)
daemon_child_unpin_test_SOURCES = daemon/child/unpin.c daemon/child/unpin_test.c daemon/memory/pinned.c
daemon_child_unpin_test_LDADD = plane/libplane.la base/libbase.la $(CMOCKA_LIBS)
daemon_closer_test_SOURCES = daemon/closer.c daemon/closer_test.c daemon/thread.c
daemon_closer_test_LDADD = base/libbase.la $(CMOCKA_LIBS) -lpthread
daemon_work_compiler_test_SOURCES = daemon/thread.c daemon/work/compiler.c daemon/work/compiler_test.c
daemon_work_compiler_test_LDADD = base/libbase.la $(LIBEVENT_LIBS) $(CMOCKA_LIBS) -lpthread
daemon_session_complaint_test_SOURCES = daemon/session/complaint.c daemon/session/complaint_test.c
daemon_session_complaint_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_work_ending_test_SOURCES = daemon/work/ending.c daemon/work/ending_test.c
daemon_work_ending_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_work_shape_describe_test_SOURCES = daemon/work/shape/describe.c daemon/work/shape/describe_test.c
daemon_work_shape_describe_test_LDADD = wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS) $(XXHASH_LIBS) $(CMOCKA_LIBS)
daemon_settings_tenants_test_SOURCES = daemon/settings/tenants.c daemon/settings/tenants_test.c
daemon_settings_tenants_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_settings_http_address_test_SOURCES = daemon/settings/http_address.c daemon/settings/http_address_test.c
daemon_settings_http_address_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_inspect_trace_trace_log_test_SOURCES = daemon/inspect/trace/trace_log.c daemon/inspect/trace/trace_log_test.c
daemon_inspect_trace_trace_log_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_device_beside_test_SOURCES = daemon/device/beside.c daemon/device/beside_test.c
daemon_device_beside_test_LDADD = $(CMOCKA_LIBS)
daemon_memory_limits_test_SOURCES = daemon/memory/limits.c daemon/memory/limits_test.c
daemon_memory_limits_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_module_module_test_SOURCES = daemon/module/module.c daemon/module/module_file.c daemon/module/module_probe.c \
	daemon/module/module_test.c daemon/thread.c
daemon_module_module_test_LDADD = wire/libwire.la base/libbase.la $(LIBEVENT_LIBS) $(PROTOBUF_C_LIBS) $(XXHASH_LIBS)    \
	$(CMOCKA_LIBS) -lpthread
daemon_peer_name_name_codec_test_SOURCES = daemon/peer/name/name_codec.c daemon/peer/name/name_codec_test.c
daemon_peer_name_name_codec_test_LDADD = store/libstore.la cluster/libcluster.la plane/libplane.la wire/libwire.la base/libbase.la \
	$(PROTOBUF_C_LIBS) $(CMOCKA_LIBS)
daemon_peer_page_page_codec_test_SOURCES = daemon/peer/page/page_codec.c daemon/peer/page/page_codec_test.c
daemon_peer_page_page_codec_test_LDADD = cluster/libcluster.la wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS) $(CMOCKA_LIBS)
daemon_peer_pull_sending_test_SOURCES = daemon/peer/pull/sending_test.c
daemon_peer_pull_sending_test_LDADD = $(daemon_libraries) $(CMOCKA_LIBS)
daemon_peer_codec_test_SOURCES = daemon/peer/codec.c daemon/peer/codec_test.c
daemon_peer_codec_test_LDADD = cluster/libcluster.la wire/libwire.la base/libbase.la $(PROTOBUF_C_LIBS) $(CMOCKA_LIBS)
daemon_memory_overhead_test_SOURCES = daemon/memory/overhead.c daemon/memory/overhead_test.c
daemon_memory_overhead_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_work_shape_shapes_test_SOURCES = daemon/work/shape/shapes.c daemon/work/shape/shapes_test.c
daemon_work_shape_shapes_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
daemon_memory_worker_test_SOURCES = daemon/memory/worker.c daemon/memory/worker_test.c daemon/thread.c
daemon_memory_worker_test_LDADD = plane/libplane.la base/libbase.la $(LIBEVENT_LIBS) $(CMOCKA_LIBS) -lpthread
tests_conformance_bulk_test_SOURCES = daemon/peer/pull/bulk.c daemon/peer/pull/bulk_thread.c tests/conformance/bulk_test.c \
	tests/conformance/transport/pair.c tests/conformance/transport/pair.h $(transport_place)
tests_conformance_bulk_test_LDADD = daemon/libtransport.la cluster/libcluster.la base/libbase.la $(LIBEVENT_LIBS) \
	$(OPENSSL_LIBS) $(XXHASH_LIBS) $(CMOCKA_LIBS) -lpthread
tests_conformance_meta_test_SOURCES = $(redis_test_common) \
	tests/conformance/meta_test.c tests/conformance/server.c tests/conformance/server.h
daemon_meta_redis_member_test_SOURCES = daemon/meta/redis/address.c daemon/meta/redis/answer.c daemon/meta/redis/member.c \
	daemon/meta/redis/member_test.c
daemon_meta_redis_member_test_LDADD = base/libbase.la $(CMOCKA_LIBS)
redis_test_common = daemon/clock.c daemon/meta/embedded.c daemon/meta/kinds.c daemon/own_file.c daemon/thread.c $(redis_sources)
tests_conformance_redis_test_SOURCES = $(redis_test_common) tests/conformance/members.c tests/conformance/members.h \
	tests/conformance/redis_test.c tests/conformance/server.c \
	tests/conformance/server.h
tests_conformance_redis_test_LDADD = $(tests_conformance_meta_test_LDADD)
tests_conformance_redis_refuses_test_SOURCES = $(redis_test_common) tests/conformance/members.c tests/conformance/members.h \
	tests/conformance/redis_refuses_test.c tests/conformance/server.c \
	tests/conformance/server.h
tests_conformance_redis_refuses_test_LDADD = $(tests_conformance_meta_test_LDADD)
tests_conformance_redis_spoilt_test_SOURCES = $(redis_test_common) tests/conformance/members.c tests/conformance/members.h \
	tests/conformance/redis_spoilt_test.c tests/conformance/server.c \
	tests/conformance/server.h
tests_conformance_redis_spoilt_test_LDADD = $(tests_conformance_meta_test_LDADD)
tests_conformance_meta_test_LDADD = plane/libplane.la base/libbase.la $(LIBEVENT_LIBS) $(HIREDIS_LIBS) $(CMOCKA_LIBS) -lpthread

# What an installed service consists of besides.
EXTRA_DIST += daemon/systemd/pathwaysd.service.in daemon/systemd/pathways.conf daemon/systemd/sysusers.d/pathways.conf     \
	daemon/systemd/tmpfiles.d/pathways.conf
if WITH_SYSTEMD
sysusersdir = $(prefix)/lib/sysusers.d
tmpfilesdir = $(prefix)/lib/tmpfiles.d
systemdsystemunit_DATA = daemon/systemd/pathwaysd.service
sysusers_DATA = daemon/systemd/sysusers.d/pathways.conf
tmpfiles_DATA = daemon/systemd/tmpfiles.d/pathways.conf
CLEANFILES += daemon/systemd/pathwaysd.service
daemon/systemd/pathwaysd.service: daemon/systemd/pathwaysd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) daemon/systemd &&  sed -e 's|@sbindir''@|$(sbindir)|' -e 's|@sysconfdir''@|$(sysconfdir)|' $(srcdir)/daemon/systemd/pathwaysd.service.in >$@
endif
