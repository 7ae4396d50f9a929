# What needs a GPU, or the headers of its maker: skipped where there is none.
gpu_tests = tests/gpu/driver_header_test tests/gpu/nccl_header_test tests/gpu/nvml_header_test
check_PROGRAMS += $(gpu_tests)
TESTS += $(gpu_tests)
tests_gpu_driver_header_test_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_driver_header_test_LDADD =
tests_gpu_nccl_header_test_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
tests_gpu_nccl_header_test_LDADD =
tests_gpu_nvml_header_test_CPPFLAGS = $(AM_CPPFLAGS) $(NVML_CPPFLAGS)
tests_gpu_nvml_header_test_LDADD =
EXTRA_DIST += tests/gpu/README.md tests/gpu/h100.jsonl

# What a machine with a GPU is asked: tests/gpu/pack takes it there, tests/gpu/run runs it.
# The executor of a pack finds its libraries beside it, for executors are not told of LD_LIBRARY_PATH.
check_PROGRAMS += tests/gpu/executor
tests_gpu_executor_SOURCES = executor/main.c
tests_gpu_executor_LDADD = executor/libexecutor.la
tests_gpu_executor_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib'
check_PROGRAMS += tests/gpu/questions tests/gpu/figures tests/gpu/reduces tests/gpu/starts
noinst_HEADERS += tests/gpu/raw.h tests/gpu/report.h tests/gpu/site.h
gpu_libraries = executor/libexecutor.la
tests_gpu_questions_SOURCES = tests/gpu/questions.c tests/gpu/raw.c tests/gpu/report.c
tests_gpu_questions_LDADD = $(gpu_libraries)
tests_gpu_figures_SOURCES = tests/gpu/figures.c tests/gpu/launches.c tests/gpu/raw.c tests/gpu/report.c tests/gpu/site.c
tests_gpu_figures_LDADD = $(gpu_libraries)
tests_gpu_reduces_SOURCES = tests/gpu/reduces.c tests/gpu/raw.c tests/gpu/report.c tests/gpu/site.c
tests_gpu_reduces_LDADD = $(gpu_libraries)
tests_gpu_starts_SOURCES = tests/gpu/starts.c tests/gpu/raw.c tests/gpu/report.c $(integration_scene) $(integration_sources)
tests_gpu_starts_LDADD = $(gpu_libraries) $(CMOCKA_LIBS)
dist_check_SCRIPTS += tests/gpu/pack tests/gpu/run tests/gpu/run_test.sh
TESTS += tests/gpu/run_test.sh
