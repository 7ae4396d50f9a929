# libclient: libclient.la is everything, for executor, cli and tests; libpathways.la exports what the public headers declare.
# libclient_core.la has the objects of this folder alone: libtool would put those of nested archives into a shared library twice.
noinst_LTLIBRARIES += libclient/libclient_core.la libclient/libclient.la
libclient_libclient_core_la_SOURCES = libclient/drain.c libclient/lane.c libclient/listing.c libclient/listing_hosts.c libclient/object/frozen.c libclient/object/foreign.c libclient/object/future.c \
	libclient/object/get.c libclient/object/name.c libclient/object/notify.c libclient/object/open.c libclient/object/open_all.c libclient/object/put.c \
	libclient/object/relocate.c libclient/object/unref.c libclient/object/value.c libclient/object/wait.c \
	libclient/params.c libclient/program/cancel.c libclient/program/compile.c libclient/program/program.c libclient/program/run.c \
	libclient/program/slice.c libclient/room.c libclient/session.c libclient/slab.c libclient/socket/connection.c \
	libclient/socket/descriptor.c libclient/socket/handshake.c libclient/socket/outgoing.c libclient/socket/segment_map.c \
	libclient/socket/socket.c libclient/socket/watcher.c libclient/take.c
libclient_parts = libclient/libclient_core.la wire/libwire.la plane/libplane.la base/libbase.la
libclient_libclient_la_SOURCES =
libclient_libclient_la_LIBADD = $(libclient_parts)
noinst_HEADERS += libclient/lane.h libclient/listing.h libclient/object/frozen.h libclient/object/foreign.h libclient/object/future.h \
	libclient/object/notify.h libclient/object/unref.h libclient/params.h libclient/program/program.h libclient/room.h libclient/session.h \
	libclient/slab.h libclient/socket/connection.h libclient/socket/connection_private.h libclient/socket/descriptor.h \
	libclient/socket/outgoing.h libclient/socket/segment_map.h libclient/socket/socket.h libclient/uncancelled.h
EXTRA_DIST += libclient/README.md

lib_LTLIBRARIES += libclient/libpathways.la
libclient_libpathways_la_SOURCES =
libclient_libpathways_la_LIBADD = $(libclient_parts)
# nodelete: a thread that ends after dlclose() still finds the destructor of its lanes.
libclient_libpathways_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -no-undefined -Wl,-z,nodelete \
	-Wl,--version-script='$(srcdir)/libclient/libpathways.map'
EXTRA_libclient_libpathways_la_DEPENDENCIES = libclient/libpathways.map

libclient_tests = libclient/room_test libclient/socket/connection_test libclient/socket/reading_test \
	libclient/object/future_test libclient/session_test libclient/params_test libclient/program/program_test libclient/program/sharded_test
check_PROGRAMS += $(libclient_tests)
TESTS += $(libclient_tests)
libclient_test_libs = libclient/libclient.la $(CMOCKA_LIBS)
libclient_fake = libclient/fake/fake_daemon.c libclient/fake/fake_daemon.h libclient/fake/fake_daemon_private.h \
	libclient/fake/fake_record.c libclient/fake/fake_room.c
libclient_room_test_LDADD = $(libclient_test_libs)
libclient_object_future_test_SOURCES = libclient/object/future_test.c $(libclient_fake)
libclient_object_future_test_LDADD = $(libclient_test_libs)
libclient_socket_connection_test_SOURCES = libclient/socket/connection_test.c
libclient_socket_connection_test_LDADD = $(libclient_test_libs)
libclient_socket_reading_test_SOURCES = libclient/socket/reading_test.c
libclient_socket_reading_test_LDADD = $(libclient_test_libs)
libclient_params_test_SOURCES = libclient/params_test.c libclient/program/program_fixture_test.h $(libclient_fake)
libclient_params_test_LDADD = $(libclient_test_libs)
libclient_session_test_SOURCES = libclient/session_test.c $(libclient_fake)
libclient_session_test_LDADD = $(libclient_test_libs)
libclient_program_program_test_SOURCES = libclient/program/program_test.c libclient/program/program_fixture_test.h \
	$(libclient_fake)
libclient_program_program_test_LDADD = $(libclient_test_libs)
libclient_program_sharded_test_SOURCES = libclient/program/sharded_test.c libclient/program/program_fixture_test.h \
	$(libclient_fake)
libclient_program_sharded_test_LDADD = $(libclient_test_libs)
