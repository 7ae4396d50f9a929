# A CUDA driver without hardware. It is really called as the real one: tests/fake_cuda/.libs/libcuda.so.1; a test gives an executor a
# folder with a link to it, and a fake_cuda.conf. Host forms of kernels are in libraries that are linked with it.
check_LTLIBRARIES += tests/fake_cuda/libcuda.la tests/fake_cuda/kernels.la
tests_fake_cuda_libcuda_la_SOURCES = tests/fake_cuda/calls.c tests/fake_cuda/conf.c tests/fake_cuda/copy.c tests/fake_cuda/device.c \
	tests/fake_cuda/enqueue.c tests/fake_cuda/event.c tests/fake_cuda/host/held.c tests/fake_cuda/host/host.c tests/fake_cuda/kernel.c tests/fake_cuda/memory.c tests/fake_cuda/module.c \
	tests/fake_cuda/physical.c tests/fake_cuda/ptx.c tests/fake_cuda/stream.c tests/fake_cuda/window.c
tests_fake_cuda_libcuda_la_LDFLAGS = $(AM_LDFLAGS) -shared -avoid-version -shrext .so.1 -rpath $(abs_builddir) \
	-export-symbols-regex '^(cu[A-Z]|fake_cuda_)'
tests_fake_cuda_libcuda_la_LIBADD = -lpthread -ldl
tests_fake_cuda_kernels_la_SOURCES = tests/fake_cuda/kernels.c
tests_fake_cuda_kernels_la_LDFLAGS = $(executor_test_module_flags)
tests_fake_cuda_kernels_la_LIBADD = tests/fake_cuda/libcuda.la
noinst_HEADERS += tests/fake_cuda/enqueue.h tests/fake_cuda/fake.h tests/fake_cuda/memory.h
EXTRA_DIST += tests/fake_cuda/README.md

fake_cuda_tests = tests/fake_cuda/fake_cuda_test tests/fake_cuda/kernel_test tests/fake_cuda/memory_test tests/fake_cuda/stream_test
check_PROGRAMS += $(fake_cuda_tests)
TESTS += $(fake_cuda_tests)
noinst_HEADERS += tests/fake_cuda/fixture.h tests/fake_cuda/kernels.h
fake_cuda_libraries = executor/libexecutor.la $(CMOCKA_LIBS) -lpthread
tests_fake_cuda_fake_cuda_test_SOURCES = tests/fake_cuda/fake_cuda_test.c tests/fake_cuda/fixture.c
tests_fake_cuda_fake_cuda_test_LDADD = $(fake_cuda_libraries)
tests_fake_cuda_kernel_test_SOURCES = tests/fake_cuda/kernel_test.c tests/fake_cuda/fixture.c
tests_fake_cuda_kernel_test_LDADD = $(fake_cuda_libraries)
tests_fake_cuda_memory_test_SOURCES = tests/fake_cuda/memory_test.c tests/fake_cuda/fixture.c
tests_fake_cuda_memory_test_LDADD = $(fake_cuda_libraries)
tests_fake_cuda_stream_test_SOURCES = tests/fake_cuda/stream_test.c tests/fake_cuda/fixture.c
tests_fake_cuda_stream_test_LDADD = $(fake_cuda_libraries)
