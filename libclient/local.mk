# libclient: libclient.la is everything, for executor, cli and tests; libpathways.la exports what the public headers declare.
# libclient_core.la has the objects of this folder alone: libtool would put those of nested archives into a shared library twice.
noinst_LTLIBRARIES += libclient/libclient_core.la libclient/libclient.la
libclient_libclient_core_la_SOURCES = libclient/cancel.c libclient/compile.c libclient/connection.c libclient/descriptor.c libclient/frozen.c libclient/future.c libclient/get.c \
	libclient/handshake.c libclient/lane.c libclient/listing.c libclient/name.c libclient/notify.c libclient/open.c libclient/outgoing.c libclient/program.c libclient/put.c libclient/relocate.c libclient/room.c \
	libclient/run.c libclient/segment_map.c libclient/session.c libclient/slab.c libclient/slice.c libclient/socket.c libclient/take.c \
	libclient/unref.c libclient/value.c libclient/wait.c libclient/watcher.c
libclient_parts = libclient/libclient_core.la wire/libwire.la plane/libplane.la base/libbase.la
libclient_libclient_la_SOURCES =
libclient_libclient_la_LIBADD = $(libclient_parts)
noinst_HEADERS += libclient/connection.h libclient/connection_private.h libclient/descriptor.h libclient/frozen.h libclient/future.h libclient/lane.h libclient/listing.h libclient/notify.h libclient/outgoing.h libclient/program.h \
	libclient/room.h libclient/segment_map.h libclient/session.h libclient/slab.h libclient/socket.h libclient/uncancelled.h libclient/unref.h
EXTRA_DIST += libclient/README.md

lib_LTLIBRARIES += libclient/libpathways.la
libclient_libpathways_la_SOURCES =
libclient_libpathways_la_LIBADD = $(libclient_parts)
# nodelete: a thread that ends after dlclose() still finds the destructor of its lanes.
libclient_libpathways_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -Wl,-z,nodelete \
	-Wl,--version-script='$(srcdir)/libclient/libpathways.map'
EXTRA_libclient_libpathways_la_DEPENDENCIES = libclient/libpathways.map

libclient_tests = libclient/room_test libclient/connection_test libclient/future_test libclient/session_test libclient/program_test
check_PROGRAMS += $(libclient_tests)
TESTS += $(libclient_tests)
libclient_test_libs = libclient/libclient.la $(CMOCKA_LIBS)
libclient_fake = libclient/fake_daemon.c libclient/fake_daemon.h libclient/fake_daemon_private.h libclient/fake_record.c libclient/fake_room.c
libclient_room_test_LDADD = $(libclient_test_libs)
libclient_future_test_SOURCES = libclient/future_test.c $(libclient_fake)
libclient_future_test_LDADD = $(libclient_test_libs)
libclient_connection_test_SOURCES = libclient/connection_test.c
libclient_connection_test_LDADD = $(libclient_test_libs)
libclient_session_test_SOURCES = libclient/session_test.c $(libclient_fake)
libclient_session_test_LDADD = $(libclient_test_libs)
libclient_program_test_SOURCES = libclient/program_test.c $(libclient_fake)
libclient_program_test_LDADD = $(libclient_test_libs)
