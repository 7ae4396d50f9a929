# cluster: what the hosts of a cluster decide about each other.
noinst_LTLIBRARIES += cluster/libcluster.la
cluster_libcluster_la_LIBTOOLFLAGS = --tag=disable-shared
cluster_libcluster_la_SOURCES = cluster/borrow/borrow.c cluster/borrow/borrow_drain.c cluster/borrow/borrow_search.c \
	cluster/borrow/borrow_term.c cluster/borrow/lend.c cluster/borrow/talk.c cluster/drain/drain.c cluster/drain/hand.c cluster/link/hello.c \
	cluster/link/hosts.c cluster/link/link.c cluster/link/link_clock.c cluster/link/link_frames.c cluster/link/peer.c
cluster_libcluster_la_SOURCES += cluster/pull/pull.c cluster/pull/pull_message.c cluster/pull/pull_next.c cluster/pull/source.c \
	cluster/pull/source_next.c cluster/pull/spread.c cluster/pull/spread_choose.c
cluster_libcluster_la_LIBADD = base/libbase.la
noinst_HEADERS += cluster/borrow/borrow.h cluster/borrow/borrow_private.h cluster/borrow/lend.h cluster/borrow/talk.h \
	cluster/drain/drain.h cluster/drain/hand.h cluster/link/hello.h cluster/link/hosts.h cluster/link/link.h cluster/link/link_clock.h \
	cluster/link/link_private.h cluster/link/peer.h
noinst_HEADERS += cluster/pull/pull.h cluster/pull/pull_message.h cluster/pull/pull_private.h cluster/pull/source.h \
	cluster/pull/source_private.h cluster/pull/spread.h cluster/pull/spread_private.h
EXTRA_DIST += cluster/README.md cluster/pull/README.md

cluster_tests = cluster/drain/hand_test cluster/borrow/borrow_pair_test cluster/borrow/talk_test cluster/link/hosts_test \
	cluster/link/link_clock_test cluster/link/link_seeds_test cluster/link/link_test cluster/link/peer_test \
	cluster/link/writing_test
cluster_tests += cluster/pull/pull_memory_test cluster/pull/pull_message_test cluster/pull/puller_test cluster/pull/source_test \
	cluster/pull/spread_test
check_PROGRAMS += $(cluster_tests)
TESTS += $(cluster_tests)
cluster_test_libs = cluster/libcluster.la base/libbase.la $(CMOCKA_LIBS)
link_ends = cluster/link/link_ends_test.c cluster/link/link_ends_test.h
cluster_wrap = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
cluster_borrow_borrow_pair_test_LDADD = $(cluster_test_libs)
cluster_borrow_borrow_pair_test_LDFLAGS = $(cluster_wrap)
cluster_borrow_talk_test_LDADD = $(cluster_test_libs)
cluster_drain_hand_test_LDADD = $(cluster_test_libs)
cluster_link_hosts_test_LDADD = $(cluster_test_libs)
cluster_link_link_clock_test_SOURCES = cluster/link/link_clock_test.c $(link_ends)
cluster_link_link_clock_test_LDADD = $(cluster_test_libs)
cluster_link_link_seeds_test_SOURCES = cluster/link/link_seeds_test.c $(link_ends)
cluster_link_link_seeds_test_LDADD = $(cluster_test_libs)
cluster_link_writing_test_SOURCES = cluster/link/writing_test.c
cluster_link_writing_test_LDADD = $(cluster_test_libs)
cluster_link_link_test_SOURCES = cluster/link/link_test.c $(link_ends)
cluster_link_link_test_LDADD = $(cluster_test_libs)
cluster_link_peer_test_SOURCES = cluster/link/peer_test.c $(link_ends)
cluster_link_peer_test_LDADD = $(cluster_test_libs)
cluster_pull_pull_memory_test_LDADD = $(cluster_test_libs)
cluster_pull_pull_memory_test_LDFLAGS = $(cluster_wrap)
cluster_pull_pull_message_test_LDADD = $(cluster_test_libs)
cluster_pull_puller_test_LDADD = $(cluster_test_libs)
cluster_pull_source_test_LDADD = $(cluster_test_libs)
cluster_pull_spread_test_LDADD = $(cluster_test_libs)
