noinst_LTLIBRARIES += store/libstore.la
store_libstore_la_SOURCES = store/audit.c store/count.c store/donate.c store/extent.c store/future.c store/holder.c store/idle.c store/look.c store/name.c \
	store/object.c store/pages.c store/reclaim.c store/ref.c store/room.c store/store.c store/watch.c
store_libstore_la_LIBADD = plane/libplane.la base/libbase.la
noinst_HEADERS += store/action.h store/object.h store/parts.h store/state.h store/store.h
EXTRA_DIST += store/README.md

store_fixture = store/fixture_test.c store/fixture_test.h
store_tests = store/audit_test store/future_test store/look_test store/model_test store/name_test store/reclaim_test store/ref_test store/room_test
check_PROGRAMS += $(store_tests)
TESTS += $(store_tests)
store_test_libs = store/libstore.la plane/libplane.la base/libbase.la $(CMOCKA_LIBS)
store_audit_test_SOURCES = store/audit_test.c $(store_fixture)
store_audit_test_LDADD = $(store_test_libs)
store_future_test_SOURCES = store/future_test.c $(store_fixture)
store_future_test_LDADD = $(store_test_libs)
store_look_test_SOURCES = store/look_test.c $(store_fixture)
store_look_test_LDADD = $(store_test_libs)
store_model_test_SOURCES = store/model_test.c store/model_test.h store/model_world_test.c
store_model_test_LDADD = $(store_test_libs)
store_name_test_SOURCES = store/name_test.c $(store_fixture)
store_name_test_LDADD = $(store_test_libs)
store_reclaim_test_SOURCES = store/reclaim_test.c $(store_fixture)
store_reclaim_test_LDADD = $(store_test_libs)
store_ref_test_SOURCES = store/ref_test.c $(store_fixture)
store_ref_test_LDADD = $(store_test_libs)
store_room_test_SOURCES = store/room_test.c $(store_fixture)
store_room_test_LDADD = $(store_test_libs)
