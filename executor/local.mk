# executor: libexecutor.la is everything but main(), for tests
noinst_LTLIBRARIES += executor/libexecutor.la
executor_libexecutor_la_SOURCES = executor/arenas.c executor/attach.c executor/collective/host.c \
	executor/collective/deadline.c executor/collective/kinds.c executor/collective/nccl.c \
	executor/collective/nccl_library.c executor/collective/stream.c executor/describe.c executor/device/cpu.c \
	executor/device/cuda.c executor/device/cuda/cuda_calls.c executor/device/cuda/cuda_code.c executor/device/cuda/cuda_driver.c \
	executor/device/cuda/cuda_guard.c executor/device/cuda/cuda_memory.c executor/device/cuda/cuda_pin.c \
	executor/device/cuda/cuda_stage.c executor/device/cuda/cuda_watch.c \
	executor/device/cuda/peer.c executor/device/emulated.c executor/device/hostly.c executor/device/kinds.c \
	executor/device/memory_apart.c executor/device/memory_host.c executor/gang/fetch.c executor/gang/flight.c \
	executor/gang/gang.c executor/gang/gang_move.c executor/gang/gang_call.c executor/gang/gang_fault.c \
	executor/gang/gang_joint.c executor/gang/gang_load.c executor/gang/gang_mark.c executor/gang/gang_parts.c \
	executor/gang/gang_rooms.c executor/gang/gang_transfer.c executor/gang/unpin.c \
	executor/launch.c executor/options.c executor/program/module.c executor/program/node.c executor/program/nodes.c \
	executor/program/pins.c \
	executor/program/program.c executor/program/residue.c executor/program/run.c executor/program/segments.c \
	executor/report.c executor/wait.c
executor_libexecutor_la_LIBADD = libclient/libclient.la plane/libplane.la wire/libwire.la base/libbase.la -ldl -lpthread
noinst_HEADERS += executor/arenas.h executor/attach.h executor/collective/collective.h executor/collective/deadline.h executor/collective/kinds.h \
	executor/collective/nccl_library.h executor/collective/stream.h executor/describe.h executor/device/cuda/cuda_driver.h \
	executor/device/cuda/guard_rooms.h executor/device/cuda/peer.h executor/device/cuda/peer_part.h executor/device/cuda_private.h executor/device/device.h \
	executor/device/guard.h executor/device/hostly.h executor/device/kinds.h executor/device/memory.h \
	executor/device/memory_apart.h executor/gang/fetch.h executor/fixture_test.h executor/gang/flight.h executor/gang/gang.h \
	executor/gang/gang_private.h executor/gang/unpin.h executor/launch.h executor/program/module.h executor/program/pins.h executor/program/program.h executor/program/run.h \
	executor/program/residue.h executor/program/segments.h executor/report.h executor/surroundings.h executor/wait.h

pkglibexec_PROGRAMS += executor/pathways-executor
executor_pathways_executor_SOURCES = executor/main.c
executor_pathways_executor_LDADD = executor/libexecutor.la

# The general functions that come with the product.
module_LTLIBRARIES += executor/modules/pw.la
executor_modules_pw_la_SOURCES = executor/modules/pw.c executor/modules/pw_cuda.c
noinst_HEADERS += executor/modules/numbers.h executor/modules/pw.h
executor_modules_pw_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared

# Modules for tests: not installed, yet shared libraries, which takes an -rpath.
executor_test_module_flags = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
check_LTLIBRARIES += tests/integration/modules/broken.la tests/integration/modules/older_abi.la  \
	tests/integration/modules/other_abi.la tests/integration/modules/shut.la
tests_integration_modules_shut_la_SOURCES = tests/integration/modules/shut.c
tests_integration_modules_shut_la_LDFLAGS = $(executor_test_module_flags)
tests_integration_modules_broken_la_SOURCES = tests/integration/modules/broken.c
tests_integration_modules_broken_la_LDFLAGS = $(executor_test_module_flags)
tests_integration_modules_older_abi_la_SOURCES = tests/integration/modules/older_abi.c
tests_integration_modules_older_abi_la_LDFLAGS = $(executor_test_module_flags)
tests_integration_modules_other_abi_la_SOURCES = tests/integration/modules/other_abi.c
tests_integration_modules_other_abi_la_LDFLAGS = $(executor_test_module_flags)

executor_tests = executor/device/guard_test executor/launch_test executor/launch_wait_test executor/program/module_test \
	executor/gang/failure_test executor/gang/flight_test executor/gang/parts_failure_test executor/gang/parts_test \
	executor/gang/spoil_test executor/gang/joint_test executor/collective/stream_test executor/program/nodes_test executor/program/place_test \
	executor/program/pins_test executor/program/residue_test executor/program/segments_test executor/options_test executor/describe_test executor/modules/pw_test tests/conformance/device_test
check_PROGRAMS += $(executor_tests) executor/launch_bench
TESTS += $(executor_tests)
executor_test_libraries = executor/libexecutor.la $(CMOCKA_LIBS)
executor_fixture = executor/fixture_test.c executor/fixture_around_test.c executor/fixture_image_test.c
executor_device_guard_test_SOURCES = executor/device/guard_test.c
executor_device_guard_test_LDADD = $(executor_test_libraries)
executor_launch_test_SOURCES = executor/launch_test.c executor/launch_fixture.h $(executor_fixture)
executor_launch_test_LDADD = $(executor_test_libraries)
executor_launch_wait_test_SOURCES = executor/launch_wait_test.c executor/launch_fixture.h $(executor_fixture)
executor_launch_wait_test_LDADD = $(executor_test_libraries)
executor_gang_failure_test_SOURCES = executor/gang/failure_test.c executor/gang/failure.h $(executor_fixture)
executor_gang_failure_test_LDADD = $(executor_test_libraries)
executor_gang_flight_test_SOURCES = executor/gang/flight_test.c executor/device/spying.h executor/gang/failure.h $(executor_fixture)
executor_gang_flight_test_LDADD = $(executor_test_libraries)
executor_gang_parts_test_SOURCES = executor/gang/parts_test.c executor/launch_fixture.h $(executor_fixture)
executor_gang_parts_test_LDADD = $(executor_test_libraries)
executor_gang_parts_failure_test_SOURCES = executor/gang/parts_failure_test.c executor/gang/failure.h $(executor_fixture)
executor_gang_parts_failure_test_LDADD = $(executor_test_libraries)
executor_collective_stream_test_LDADD = $(executor_test_libraries)
executor_gang_spoil_test_SOURCES = executor/gang/spoil_test.c executor/gang/failure.h $(executor_fixture)
executor_gang_spoil_test_LDADD = $(executor_test_libraries)
executor_gang_joint_test_SOURCES = executor/gang/joint_test.c executor/gang/failure.h $(executor_fixture)
executor_gang_joint_test_LDADD = $(executor_test_libraries)
executor_program_nodes_test_SOURCES = executor/program/nodes_test.c $(executor_fixture)
executor_program_nodes_test_LDADD = $(executor_test_libraries)
executor_program_place_test_SOURCES = executor/program/place_test.c $(executor_fixture)
executor_program_place_test_LDADD = $(executor_test_libraries)
executor_program_module_test_LDADD = $(executor_test_libraries)
executor_program_pins_test_LDADD = $(executor_test_libraries)
executor_program_residue_test_LDADD = $(executor_test_libraries)
executor_program_segments_test_LDADD = $(executor_test_libraries)
executor_launch_bench_SOURCES = executor/launch_bench.c $(executor_fixture)
executor_launch_bench_LDADD = $(executor_test_libraries)
executor_options_test_LDADD = $(executor_test_libraries)
executor_describe_test_LDADD = $(executor_test_libraries)
executor_modules_pw_test_LDADD = $(executor_test_libraries)
tests_conformance_device_test_LDADD = $(executor_test_libraries)
EXTRA_DIST += executor/README.md
