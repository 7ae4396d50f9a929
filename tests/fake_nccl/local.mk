# NCCL without hardware. It is really called as the real one: tests/fake_nccl/.libs/libnccl.so.2; a test gives an executor a folder
# with a link to it, and a fake_nccl.conf.
check_LTLIBRARIES += tests/fake_nccl/libnccl.la
tests_fake_nccl_libnccl_la_SOURCES = tests/fake_nccl/calls.c tests/fake_nccl/comm.c tests/fake_nccl/conf.c tests/fake_nccl/cuda.c \
	tests/fake_nccl/group.c tests/fake_nccl/kernel.c tests/fake_nccl/meeting.c tests/fake_nccl/part.c tests/fake_nccl/reduce.c
tests_fake_nccl_libnccl_la_LDFLAGS = $(AM_LDFLAGS) -shared -avoid-version -shrext .so.2 -rpath $(abs_builddir) \
	-export-symbols-regex '^(nccl[A-Z]|fake_nccl_)'
tests_fake_nccl_libnccl_la_LIBADD = -lpthread -ldl
noinst_HEADERS += tests/fake_nccl/fake.h
EXTRA_DIST += tests/fake_nccl/README.md

fake_nccl_tests = tests/fake_nccl/collective_test tests/fake_nccl/fake_nccl_test tests/fake_nccl/order_test
check_PROGRAMS += $(fake_nccl_tests)
TESTS += $(fake_nccl_tests)
noinst_HEADERS += tests/fake_nccl/fixture.h
fake_nccl_libraries = executor/libexecutor.la $(CMOCKA_LIBS) -lpthread -ldl
tests_fake_nccl_collective_test_SOURCES = tests/fake_nccl/collective_test.c tests/fake_nccl/fixture.c
tests_fake_nccl_collective_test_LDADD = $(fake_nccl_libraries)
tests_fake_nccl_fake_nccl_test_SOURCES = tests/fake_nccl/fake_nccl_test.c tests/fake_nccl/fixture.c
tests_fake_nccl_fake_nccl_test_LDADD = $(fake_nccl_libraries)
tests_fake_nccl_order_test_SOURCES = tests/fake_nccl/order_test.c tests/fake_nccl/fixture.c
tests_fake_nccl_order_test_LDADD = $(fake_nccl_libraries)
