# `make bench` prints the table; the test sees that every row comes out.
check_PROGRAMS += tests/bench/bench
tests_bench_bench_SOURCES = tests/bench/bench.c tests/bench/bench.h
tests_bench_bench_SOURCES += tests/bench/allreduce.c
tests_bench_bench_SOURCES += tests/bench/child.c tests/bench/child.h
tests_bench_bench_SOURCES += tests/bench/clients.c
tests_bench_bench_SOURCES += tests/bench/daemon.c tests/bench/daemon.h
tests_bench_bench_SOURCES += tests/bench/get.c
tests_bench_bench_SOURCES += tests/bench/growth.c
tests_bench_bench_SOURCES += tests/bench/memory.c tests/bench/memory.h
tests_bench_bench_SOURCES += tests/bench/objects.c
tests_bench_bench_SOURCES += tests/bench/open.c
tests_bench_bench_SOURCES += tests/bench/order.c
tests_bench_bench_SOURCES += tests/bench/others.c
tests_bench_bench_SOURCES += tests/bench/pair.c tests/bench/pair.h
tests_bench_bench_SOURCES += tests/bench/pipeline.c
tests_bench_bench_SOURCES += tests/bench/program.c
tests_bench_bench_SOURCES += tests/bench/put.c
tests_bench_bench_SOURCES += tests/bench/reclaim.c
tests_bench_bench_SOURCES += tests/bench/report.c
tests_bench_bench_SOURCES += tests/bench/rest.c
tests_bench_bench_SOURCES += tests/bench/syscalls.c
tests_bench_bench_SOURCES += tests/bench/wait.c
tests_bench_bench_SOURCES += tests/bench/wake.c
tests_bench_bench_LDADD = libclient/libclient.la -lm

# What allreduce_64m is compared with, where there is Open MPI.
if WITH_MPI
check_DATA += tests/bench/allreduce_mpi
tests/bench/allreduce_mpi: $(srcdir)/tests/bench/allreduce_mpi.c
	$(AM_V_GEN)$(MPICC) -O2 -o $@ $(srcdir)/tests/bench/allreduce_mpi.c
endif
CLEANFILES += tests/bench/allreduce_mpi
EXTRA_DIST += tests/bench/allreduce_mpi.c

dist_check_SCRIPTS += tests/bench/rows.sh
TESTS += tests/bench/rows.sh
# After all others, by itself: its figures are judged.
tests/bench/rows.log: $(filter-out tests/bench/rows.log,$(TEST_LOGS))
EXTRA_DIST += tests/bench/README.md

bench: all tests/bench/bench $(check_DATA)
	tests/bench/bench
.PHONY: bench
