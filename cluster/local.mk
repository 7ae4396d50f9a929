noinst_LTLIBRARIES += cluster/libcluster.la
cluster_libcluster_la_LIBTOOLFLAGS = --tag=disable-shared
cluster_libcluster_la_SOURCES = cluster/hello.c cluster/hosts.c cluster/link.c cluster/link_frames.c cluster/peer.c
cluster_libcluster_la_LIBADD = base/libbase.la
noinst_HEADERS += cluster/hello.h cluster/hosts.h cluster/link.h cluster/link_private.h cluster/peer.h

check_PROGRAMS += cluster/link_seeds_test cluster/link_test
TESTS += cluster/link_seeds_test cluster/link_test
cluster_link_test_SOURCES = cluster/link_test.c cluster/link_ends_test.c cluster/link_ends_test.h
cluster_link_test_LDADD = cluster/libcluster.la base/libbase.la $(CMOCKA_LIBS)
cluster_link_seeds_test_SOURCES = cluster/link_seeds_test.c cluster/link_ends_test.c cluster/link_ends_test.h
cluster_link_seeds_test_LDADD = cluster/libcluster.la base/libbase.la $(CMOCKA_LIBS)
check_PROGRAMS += cluster/hosts_test cluster/peer_test
TESTS += cluster/hosts_test cluster/peer_test
cluster_hosts_test_LDADD = cluster/libcluster.la base/libbase.la $(CMOCKA_LIBS)
cluster_peer_test_SOURCES = cluster/peer_test.c cluster/link_ends_test.c cluster/link_ends_test.h
cluster_peer_test_LDADD = cluster/libcluster.la base/libbase.la $(CMOCKA_LIBS)
