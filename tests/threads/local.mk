# A daemon and its clients as threads of one process, for the thread sanitizer.
check_PROGRAMS += tests/threads/whole_test
TESTS += tests/threads/whole_test
tests_threads_whole_test_SOURCES = tests/threads/whole_test.c tests/threads/inside.c tests/threads/one_map.c
# The library's own copy of what both are made of stays its own: only what pathways.h declares is seen.
tests_threads_whole_test_LDADD = libclient/libpathways.la $(daemon_libraries) $(CMOCKA_LIBS) -ldl
noinst_HEADERS += tests/threads/inside.h
EXTRA_DIST += tests/threads/README.md
