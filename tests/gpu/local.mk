# What needs a GPU, or the headers of its maker: skipped where there is none.
gpu_tests = tests/gpu/driver_header_test tests/gpu/nccl_header_test
check_PROGRAMS += $(gpu_tests)
TESTS += $(gpu_tests)
tests_gpu_driver_header_test_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_driver_header_test_LDADD =
tests_gpu_nccl_header_test_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
tests_gpu_nccl_header_test_LDADD =
EXTRA_DIST += tests/gpu/README.md
