# tests/kernels: kernels on the processor. Of each .cu the shim makes functions, in libraries that tests load: those of the product and
# those of each example. Where there is no C++ compiler there are none, and the tests that need them are skipped.
# What nvcc makes of a .cu lies beside it, as PTX; `make ptx` makes it again.
cuda_headers = base/anywhere.h base/half.h executor/collective/elements.cuh executor/device/cuda/guard_rooms.h executor/device/cuda/peer_part.h executor/modules/numbers.h libclient/pathways_cuda.h \
	tests/kernels/cuda_shim.h
cuda_product = executor/device/cuda/guard.cu executor/device/cuda/peer.cu executor/modules/pw.cu
cuda_sources = $(cuda_product) examples/digits/digits.cu examples/tensor/tensor.cu $(cuda_tested)
cuda_tested = tests/gpu/kernels.cu tests/integration/modules/gpu.cu tests/integration/modules/parts.cu
cuda_libraries = tests/kernels/libpw_fake_kernels.so tests/kernels/libdigits_fake_kernels.so \
	tests/kernels/libtensor_fake_kernels.so tests/kernels/libgpu_fake_kernels.so
cuda_inc = $(cuda_sources:.cu=.ptx.inc)
noinst_HEADERS += tests/kernels/cuda_shim.h
EXTRA_DIST += $(cuda_sources) $(cuda_sources:.cu=.ptx) executor/collective/elements.cuh tests/kernels/README.md

# PTX as a string of C.
%.ptx.inc: %.ptx
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $< >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += $(cuda_inc)
CLEANFILES += $(cuda_inc) $(cuda_libraries)
ptx:
	PW_SRC='$(abs_top_srcdir)' PW_BUILD='$(abs_top_builddir)' $(srcdir)/tests/kernels/ptx.sh --write
.PHONY: ptx

if WITH_CXX
check_DATA += $(cuda_libraries)
endif
cuda_compile = $(AM_V_GEN)$(MKDIR_P) $(@D) && $(CHECK_CXX) -std=gnu++17 -O2 -g -Wall -Wextra $(WERROR_CFLAGS) $(SANITIZE_CFLAGS) -fPIC \
	-ffp-contract=off -fno-strict-aliasing -I$(top_srcdir) -I$(top_srcdir)/base -I$(top_srcdir)/libclient \
	-include $(srcdir)/tests/kernels/cuda_shim.h -shared -o $@ -x c++
tests/kernels/libpw_fake_kernels.so: $(cuda_product) $(cuda_headers)
	$(cuda_compile) $(cuda_product:%=$(srcdir)/%)
tests/kernels/libdigits_fake_kernels.so: examples/digits/digits.cu examples/digits/digits_cuda.h $(cuda_headers)
	$(cuda_compile) $(srcdir)/examples/digits/digits.cu
tests/kernels/libtensor_fake_kernels.so: examples/tensor/tensor.cu $(cuda_headers)
	$(cuda_compile) $(srcdir)/examples/tensor/tensor.cu
tests/kernels/libgpu_fake_kernels.so: $(cuda_tested) $(cuda_headers)
	$(cuda_compile) $(cuda_tested:%=$(srcdir)/%)

cuda_tests = tests/kernels/peer_test tests/kernels/guard_test tests/kernels/pw_test tests/kernels/digits_test \
	tests/kernels/tensor_test
check_PROGRAMS += $(cuda_tests)
TESTS += $(cuda_tests) tests/kernels/ptx.sh
dist_check_SCRIPTS += tests/kernels/ptx.sh
noinst_HEADERS += tests/kernels/kernels.h
cuda_test_libs = executor/libexecutor.la $(CMOCKA_LIBS) -ldl
tests_kernels_peer_test_SOURCES = tests/kernels/peer_test.c tests/kernels/kernels.c
tests_kernels_peer_test_LDADD = $(cuda_test_libs)
tests_kernels_guard_test_SOURCES = tests/kernels/guard_test.c tests/kernels/kernels.c
tests_kernels_guard_test_LDADD = $(cuda_test_libs)
tests_kernels_pw_test_SOURCES = tests/kernels/pw_test.c tests/kernels/kernels.c
tests_kernels_pw_test_LDADD = $(cuda_test_libs)
tests_kernels_digits_test_SOURCES = tests/kernels/digits_test.c tests/kernels/kernels.c
tests_kernels_digits_test_LDADD = $(cuda_test_libs) -lm
tests_kernels_tensor_test_SOURCES = tests/kernels/tensor_test.c tests/kernels/kernels.c
tests_kernels_tensor_test_LDADD = $(cuda_test_libs) -lm
