noinst_LTLIBRARIES += cluster/libcluster.la
cluster_libcluster_la_LIBTOOLFLAGS = --tag=disable-shared
cluster_libcluster_la_SOURCES = cluster/link.c cluster/link_frames.c
cluster_libcluster_la_LIBADD = base/libbase.la
noinst_HEADERS += cluster/link.h cluster/link_private.h

check_PROGRAMS += cluster/link_seeds_test cluster/link_test
TESTS += cluster/link_seeds_test cluster/link_test
cluster_link_test_SOURCES = cluster/link_test.c cluster/link_ends_test.c cluster/link_ends_test.h
cluster_link_test_LDADD = cluster/libcluster.la base/libbase.la $(CMOCKA_LIBS)
cluster_link_seeds_test_SOURCES = cluster/link_seeds_test.c cluster/link_ends_test.c cluster/link_ends_test.h
cluster_link_seeds_test_LDADD = cluster/libcluster.la base/libbase.la $(CMOCKA_LIBS)
