# `make bench` prints the table; the test sees that every row comes out.
check_PROGRAMS += tests/bench/bench
tests_bench_bench_SOURCES = tests/bench/bench.c tests/bench/bench.h tests/bench/daemon.c tests/bench/daemon.h tests/bench/get.c \
	tests/bench/open.c tests/bench/pair.c tests/bench/pair.h tests/bench/program.c tests/bench/put.c tests/bench/report.c tests/bench/rest.c \
	tests/bench/syscalls.c tests/bench/wait.c tests/bench/wake.c
tests_bench_bench_LDADD = libclient/libclient.la -lm
dist_check_SCRIPTS += tests/bench/rows.sh
TESTS += tests/bench/rows.sh
EXTRA_DIST += tests/bench/README.md

bench: all tests/bench/bench
	tests/bench/bench
.PHONY: bench
