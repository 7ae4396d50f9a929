# Tests with real processes; each starts its own daemon from this build tree.
integration_tests = tests/integration/objects_test
check_PROGRAMS += $(integration_tests) tests/integration/hold_test
TESTS += $(integration_tests)
integration_sources = tests/integration/harness.c tests/integration/harness.h tests/integration/look.c
integration_libraries = libclient/libclient.la $(CMOCKA_LIBS)
tests_integration_objects_test_SOURCES = tests/integration/objects_test.c $(integration_sources)
tests_integration_objects_test_LDADD = $(integration_libraries)
tests_integration_hold_test_SOURCES = tests/integration/hold_test.c $(integration_sources)
tests_integration_hold_test_LDADD = $(integration_libraries)
EXTRA_DIST += tests/integration/README.md
