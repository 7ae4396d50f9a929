# executor: libexecutor.la is everything but main(), for tests
noinst_LTLIBRARIES += executor/libexecutor.la
executor_libexecutor_la_SOURCES = executor/attach.c executor/describe.c executor/gang.c executor/gang_assemble.c \
	executor/gang_call.c executor/gang_fault.c executor/gang_load.c executor/gang_transfer.c executor/launch.c executor/module.c \
	executor/node.c executor/options.c executor/program.c executor/report.c executor/run.c executor/segments.c executor/wait.c \
	executor/collective/host.c executor/collective/kinds.c \
	executor/device/cpu.c executor/device/emulated.c executor/device/kinds.c
executor_libexecutor_la_LIBADD = libclient/libclient.la plane/libplane.la wire/libwire.la base/libbase.la -ldl
noinst_HEADERS += executor/attach.h executor/describe.h executor/fixture_test.h executor/gang.h executor/gang_private.h executor/guard.h \
	executor/launch.h executor/module.h executor/program.h executor/report.h executor/run.h executor/segments.h executor/surroundings.h \
	executor/wait.h executor/collective/collective.h executor/collective/kinds.h executor/device/device.h executor/device/kinds.h

pkglibexec_PROGRAMS += executor/pathways-executor
executor_pathways_executor_SOURCES = executor/main.c
executor_pathways_executor_LDADD = executor/libexecutor.la

# The general functions that come with the product.
module_LTLIBRARIES += executor/modules/pw.la
executor_modules_pw_la_SOURCES = executor/modules/pw.c
executor_modules_pw_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared

# Modules for tests: not installed, yet shared libraries, which takes an -rpath.
executor_test_module_flags = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
check_LTLIBRARIES += tests/integration/modules/broken.la tests/integration/modules/other_abi.la tests/integration/modules/shut.la
tests_integration_modules_shut_la_SOURCES = tests/integration/modules/shut.c
tests_integration_modules_shut_la_LDFLAGS = $(executor_test_module_flags)
tests_integration_modules_broken_la_SOURCES = tests/integration/modules/broken.c
tests_integration_modules_broken_la_LDFLAGS = $(executor_test_module_flags)
tests_integration_modules_other_abi_la_SOURCES = tests/integration/modules/other_abi.c
tests_integration_modules_other_abi_la_LDFLAGS = $(executor_test_module_flags)

executor_tests = executor/guard_test executor/launch_test executor/module_test executor/failure_test executor/place_test executor/segments_test executor/options_test \
	executor/describe_test \
	executor/modules/pw_test tests/conformance/device_test
check_PROGRAMS += $(executor_tests) executor/launch_bench
TESTS += $(executor_tests)
executor_test_libraries = executor/libexecutor.la $(CMOCKA_LIBS)
executor_fixture = executor/fixture_test.c executor/fixture_image_test.c
executor_guard_test_SOURCES = executor/guard_test.c
executor_guard_test_LDADD = $(executor_test_libraries)
executor_launch_test_SOURCES = executor/launch_test.c $(executor_fixture)
executor_launch_test_LDADD = $(executor_test_libraries)
executor_failure_test_SOURCES = executor/failure_test.c $(executor_fixture)
executor_failure_test_LDADD = $(executor_test_libraries)
executor_place_test_SOURCES = executor/place_test.c $(executor_fixture)
executor_place_test_LDADD = $(executor_test_libraries)
executor_module_test_LDADD = $(executor_test_libraries)
executor_segments_test_LDADD = $(executor_test_libraries)
executor_launch_bench_SOURCES = executor/launch_bench.c $(executor_fixture)
executor_launch_bench_LDADD = $(executor_test_libraries)
executor_options_test_LDADD = $(executor_test_libraries)
executor_describe_test_LDADD = $(executor_test_libraries)
executor_modules_pw_test_LDADD = $(executor_test_libraries)
tests_conformance_device_test_LDADD = $(executor_test_libraries)
EXTRA_DIST += executor/README.md
