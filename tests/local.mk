# tests
include tests/bench/local.mk
include tests/fake_cuda/local.mk
include tests/fake_nccl/local.mk
include tests/fake_nvml/local.mk
include tests/kernels/local.mk
include tests/fuzz/local.mk
include tests/gpu/local.mk
include tests/integration/local.mk
include tests/attack/local.mk
include tests/model/local.mk
include tests/threads/local.mk

# Everything that counts or is random, in full numbers.
EXTRA_DIST += tests/soak.sh tests/skipped.sh
soak: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS=
	PW_SRC='$(abs_top_srcdir)' PW_BUILD='$(abs_top_builddir)' $(srcdir)/tests/soak.sh $(SOAK)
.PHONY: soak

# A host in one process under virtual time, from a seed.
world_sources = tests/world/client/claim.c tests/world/client/client.c tests/world/client/metadata.c tests/world/daemon.c tests/world/executor/executor.c tests/world/executor/flight.c tests/world/executor/gang.c tests/world/executor/kind.c tests/world/executor/sources.c tests/world/rules/holders.c tests/world/link.c \
	tests/world/rules/passing.c tests/world/program.c tests/world/client/share.c tests/world/seeds.c tests/world/states.c tests/world/client/store.c tests/world/client/transfer.c tests/world/world.c program/graph/graph_make.c
hosts_sources = tests/world/hosts/clients.c tests/world/hosts/links.c tests/world/hosts/play.c tests/world/hosts/program.c \
	tests/world/seeds.c
noinst_HEADERS += tests/world/client/claim.h tests/world/client/store.h tests/world/executor/gang.h tests/world/executor/kind.h tests/world/hosts/play.h tests/world/seeds.h tests/world/said/said.h tests/world/world.h
EXTRA_DIST += tests/world/README.md
world_tests = tests/world/admission_test tests/world/hosts/chain_test tests/world/hosts/given_up_test tests/world/hosts/hosts_test tests/world/hosts/reserved_test tests/world/hosts/hostile_test tests/world/hosts/asked_test tests/world/hosts/believed_test tests/world/waiting_test tests/world/check_test tests/world/ending_test    \
	tests/world/message_test tests/world/said/origin_test tests/world/order_test tests/world/loss_test tests/world/pipeline_test \
	tests/world/refused_test tests/world/world_test
check_PROGRAMS += $(world_tests) tests/world/policy_test
TESTS += $(world_tests)
world_test_libs = daemon/libboard.la scheduler/libscheduler.la store/libstore.la program/libprogram.la plane/libplane.la base/libbase.la  $(CMOCKA_LIBS)
tests_world_admission_test_SOURCES = tests/world/admission_test.c tests/world/admission.h $(world_sources)
tests_world_admission_test_LDADD = $(world_test_libs)
tests_world_admission_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=realloc
tests_world_hosts_hosts_test_SOURCES = tests/world/hosts/hosts_test.c $(hosts_sources) program/graph/graph_make.c
tests_world_hosts_hosts_test_LDADD = $(world_test_libs)
tests_world_hosts_chain_test_SOURCES = tests/world/hosts/chain_test.c $(hosts_sources) program/graph/graph_make.c
tests_world_hosts_chain_test_LDADD = $(world_test_libs)
tests_world_hosts_given_up_test_SOURCES = tests/world/hosts/given_up_test.c $(hosts_sources) program/graph/graph_make.c
tests_world_hosts_given_up_test_LDADD = $(world_test_libs)
tests_world_hosts_reserved_test_SOURCES = tests/world/hosts/reserved_test.c $(hosts_sources) program/graph/graph_make.c
tests_world_hosts_reserved_test_LDADD = $(world_test_libs)
tests_world_hosts_reserved_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc
tests_world_hosts_believed_test_SOURCES = tests/world/hosts/believed_test.c $(hosts_sources) program/graph/graph_make.c
tests_world_hosts_believed_test_LDADD = $(world_test_libs)
tests_world_hosts_asked_test_SOURCES = tests/world/hosts/asked_test.c $(hosts_sources) program/graph/graph_make.c
tests_world_hosts_asked_test_LDADD = $(world_test_libs)
tests_world_hosts_hostile_test_SOURCES = tests/world/hosts/hostile_test.c $(hosts_sources) program/graph/graph_make.c
tests_world_hosts_hostile_test_LDADD = $(world_test_libs)
tests_world_waiting_test_SOURCES = tests/world/waiting_test.c tests/world/admission.h $(world_sources)
tests_world_waiting_test_LDADD = $(world_test_libs)
tests_world_check_test_SOURCES = tests/world/check_test.c $(world_sources)
tests_world_check_test_LDADD = $(world_test_libs)
tests_world_ending_test_SOURCES = tests/world/ending_test.c $(world_sources)
tests_world_ending_test_LDADD = $(world_test_libs)
tests_world_order_test_SOURCES = tests/world/order_test.c tests/world/order.h $(world_sources)
tests_world_order_test_LDADD = $(world_test_libs)
tests_world_loss_test_SOURCES = tests/world/loss_test.c tests/world/order.h $(world_sources)
tests_world_loss_test_LDADD = $(world_test_libs)
tests_world_pipeline_test_SOURCES = tests/world/pipeline_test.c $(world_sources)
tests_world_pipeline_test_LDADD = $(world_test_libs)
tests_world_refused_test_SOURCES = tests/world/refused_test.c tests/world/order.h $(world_sources)
tests_world_refused_test_LDADD = $(world_test_libs)
tests_world_refused_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc
tests_world_message_test_SOURCES = tests/world/message_test.c tests/world/order.h tests/world/said/said.h $(world_sources)
tests_world_message_test_LDADD = $(world_test_libs)
tests_world_said_origin_test_SOURCES = tests/world/said/origin_test.c tests/world/order.h tests/world/said/said.h $(world_sources)
tests_world_said_origin_test_LDADD = $(world_test_libs)
tests_world_policy_test_SOURCES = tests/world/policy_test.c $(world_sources)
tests_world_policy_test_LDADD = $(world_test_libs)
tests_world_world_test_SOURCES = tests/world/world_test.c $(world_sources)
tests_world_world_test_LDADD = $(world_test_libs)

# Hosts of cluster/: what they borrow of each other.
noinst_HEADERS += tests/world/cluster/clients.h tests/world/cluster/hosts.h
cluster_world = tests/world/cluster/acts.c tests/world/cluster/hosts.c tests/world/cluster/store.c
cluster_world_libs = cluster/libcluster.la base/libbase.la $(CMOCKA_LIBS)
check_PROGRAMS += tests/world/cluster/borrow_test tests/world/cluster/borrow_world_test tests/world/cluster/drain_test tests/world/cluster/names_test
TESTS += tests/world/cluster/borrow_test tests/world/cluster/borrow_world_test tests/world/cluster/drain_test tests/world/cluster/names_test
tests_world_cluster_drain_test_SOURCES = tests/world/cluster/drain_test.c $(cluster_world)
tests_world_cluster_drain_test_LDADD = $(cluster_world_libs)
tests_world_cluster_borrow_test_SOURCES = tests/world/cluster/borrow_test.c $(cluster_world)
tests_world_cluster_borrow_test_LDADD = $(cluster_world_libs)
tests_world_cluster_names_test_SOURCES = tests/world/cluster/names_test.c $(cluster_world)
tests_world_cluster_names_test_LDADD = $(cluster_world_libs)
tests_world_cluster_borrow_world_test_SOURCES = tests/world/cluster/borrow_world_test.c tests/world/cluster/clients.c $(cluster_world)
tests_world_cluster_borrow_world_test_LDADD = $(cluster_world_libs)

# Hosts of cluster/: what they pull from each other.
noinst_HEADERS += tests/world/cluster/pulls.h
pull_world = tests/world/cluster/pulls.c tests/world/cluster/pulls_links.c tests/world/cluster/pulls_threads.c
pull_tests = tests/world/cluster/pull_test tests/world/cluster/pull_world_test tests/world/cluster/replica_test
check_PROGRAMS += $(pull_tests)
TESTS += $(pull_tests)
tests_world_cluster_pull_test_SOURCES = tests/world/cluster/pull_test.c $(pull_world)
tests_world_cluster_pull_test_LDADD = $(cluster_world_libs)
tests_world_cluster_pull_world_test_SOURCES = tests/world/cluster/pull_world_test.c $(pull_world)
tests_world_cluster_pull_world_test_LDADD = $(cluster_world_libs)
tests_world_cluster_replica_test_LDADD = $(cluster_world_libs)
