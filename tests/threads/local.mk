# A daemon and its clients as threads of one process, for the thread sanitizer.
threads_tests = tests/threads/whole_test tests/threads/foreign_test
check_PROGRAMS += $(threads_tests)
TESTS += $(threads_tests)
tests_threads_foreign_test_SOURCES = tests/threads/foreign_test.c tests/threads/other_host.c tests/threads/inside.c tests/threads/one_map.c
tests_threads_foreign_test_LDADD = libclient/libpathways.la $(daemon_libraries) $(CMOCKA_LIBS) -ldl
tests_threads_whole_test_SOURCES = tests/threads/whole_test.c tests/threads/inside.c tests/threads/one_map.c
# The library's own copy of what both are made of stays its own: only what pathways.h declares is seen.
tests_threads_whole_test_LDADD = libclient/libpathways.la $(daemon_libraries) $(CMOCKA_LIBS) -ldl
noinst_HEADERS += tests/threads/inside.h tests/threads/other_host.h
EXTRA_DIST += tests/threads/README.md
