# `make bench` prints the table; the test sees that every row comes out.
check_PROGRAMS += tests/bench/bench
tests_bench_bench_SOURCES = tests/bench/bench.c tests/bench/bench.h tests/bench/child.c tests/bench/child.h \
	tests/bench/cluster/floors.h tests/bench/cluster/hand_on.c tests/bench/cluster/hosts.c tests/bench/cluster/hosts.h \
	tests/bench/cluster/loops.c tests/bench/cluster/loss.c tests/bench/cluster/name.c tests/bench/cluster/open.c \
	tests/bench/cluster/proof.c tests/bench/cluster/pull.c tests/bench/cluster/quiet.c tests/bench/cluster/redis.c \
	tests/bench/cluster/small.h tests/bench/cluster/streams.c tests/bench/daemon.c tests/bench/daemon.h tests/bench/growth.c tests/bench/memory.c tests/bench/memory.h \
	tests/bench/object/clients.c tests/bench/object/get.c tests/bench/object/objects.c tests/bench/object/open.c \
	tests/bench/object/put.c tests/bench/object/reclaim.c tests/bench/object/wait.c tests/bench/object/wake.c \
	tests/bench/others.c tests/bench/pair.c tests/bench/pair.h tests/bench/report.c tests/bench/rest.c tests/bench/syscalls.c \
	tests/bench/work/allreduce.c tests/bench/work/order.c tests/bench/work/pipeline.c tests/bench/work/program.c
tests_bench_bench_LDADD = libclient/libclient.la $(OPENSSL_LIBS) $(XXHASH_LIBS) -lpthread -lm

# Run by hand: bulk streams beside raw sockets.
check_PROGRAMS += tests/bench/transport_bench
tests_bench_transport_bench_SOURCES = tests/bench/transport.c $(transport_place)
tests_bench_transport_bench_LDADD = $(transport_libraries)

# What allreduce_64m is compared with, where there is Open MPI.
if WITH_MPI
check_DATA += tests/bench/work/allreduce_mpi
EXTRA_tests_bench_bench_DEPENDENCIES = tests/bench/work/allreduce_mpi
tests/bench/work/allreduce_mpi: $(srcdir)/tests/bench/work/allreduce_mpi.c
	@$(MKDIR_P) tests/bench/work
	$(AM_V_GEN)$(MPICC) -O2 -o $@ $(srcdir)/tests/bench/work/allreduce_mpi.c
endif
CLEANFILES += tests/bench/work/allreduce_mpi
EXTRA_DIST += tests/bench/work/allreduce_mpi.c

dist_check_SCRIPTS += tests/bench/rows.sh
TESTS += tests/bench/rows.sh
# After all others, by itself: its figures are judged.
tests/bench/rows.log: $(filter-out tests/bench/rows.log,$(TEST_LOGS))
EXTRA_DIST += tests/bench/README.md

bench: all tests/bench/bench $(check_DATA)
	tests/bench/bench
.PHONY: bench
