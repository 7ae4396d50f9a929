noinst_LTLIBRARIES += store/libstore.la
store_libstore_la_LIBTOOLFLAGS = --tag=disable-shared
store_libstore_la_SOURCES = store/account/audit.c store/account/count.c store/account/holder.c store/account/keep.c \
	store/account/quota.c store/object/donate.c store/object/ending.c store/object/fetched.c store/object/future.c \
	store/object/scan.c \
	store/name/asker.c store/name/claim.c store/name/lease.c store/name/name.c store/name/publish.c store/name/wanted.c \
	store/object/move.c store/object/proxy.c store/object/object.c store/object/reclaim.c store/object/ref.c store/object/step.c \
	store/object/transfer.c store/object/watch.c store/room/extent.c store/room/extent_end.c store/room/hole.c store/room/idle.c \
	store/room/pages.c store/room/pass.c store/room/place.c store/room/refusal.c store/room/room.c store/room/search.c \
	store/room/vain.c store/store.c
store_libstore_la_LIBADD = plane/libplane.la base/libbase.la
noinst_HEADERS += store/account/quota.h store/action.h store/counts.h store/fetched.h store/name.h store/name/name_private.h \
	store/naming.h store/object.h store/object/moved.h store/object/step.h store/parts.h store/proxy.h store/state.h \
	store/store.h
EXTRA_DIST += store/README.md

store_names = store/name/plain_test.c store/name/plain_test.h
store_fixture = store/fixture_test.c store/fixture_test.h $(store_names)
store_tests = store/account/audit_test store/object/ending_test store/object/future_test store/object/scan_test  \
	store/model_test store/name/lease_test store/name/name_test store/name/name_world_test store/name/wanted_test store/object/reclaim_test \
	store/object/ref_test store/room/room_test \
	store/room/queue_test store/room/search_test
store_tests += store/room/vain_test store/object/fetched_test store/object/move_test store/object/proxy_test store/account/quota_test store/object/transfer_test store/object/wide_test
check_PROGRAMS += $(store_tests)
TESTS += $(store_tests)
store_test_libs = store/libstore.la plane/libplane.la base/libbase.la $(CMOCKA_LIBS)
store_account_audit_test_SOURCES = store/account/audit_test.c $(store_fixture)
store_account_audit_test_LDADD = $(store_test_libs)
store_object_ending_test_SOURCES = store/object/ending_test.c $(store_fixture)
store_object_ending_test_LDADD = $(store_test_libs)
store_object_future_test_SOURCES = store/object/future_test.c $(store_fixture)
store_object_future_test_LDADD = $(store_test_libs)
store_object_scan_test_SOURCES = store/object/scan_test.c $(store_fixture)
store_object_scan_test_LDADD = $(store_test_libs)
store_model_test_SOURCES = store/model_test.c store/model_test.h store/model_proxy_test.c store/model_world_test.c $(store_names)
store_model_test_LDADD = $(store_test_libs)
store_name_lease_test_SOURCES = store/name/lease_test.c store/name/named_test.h $(store_fixture)
store_name_lease_test_LDADD = $(store_test_libs)
store_name_name_test_SOURCES = store/name/name_test.c store/name/named_test.h $(store_fixture)
store_name_name_world_test_SOURCES = store/name/name_world_test.c store/name/late_test.c store/name/late_test.h $(store_fixture)
store_name_name_world_test_LDADD = $(store_test_libs)
store_name_name_test_LDADD = $(store_test_libs)
store_name_wanted_test_SOURCES = store/name/wanted_test.c store/name/named_test.h $(store_fixture)
store_name_wanted_test_LDADD = $(store_test_libs)
store_object_fetched_test_SOURCES = store/object/fetched_test.c $(store_fixture)
store_object_move_test_SOURCES = store/object/move_test.c $(store_fixture)
store_object_wide_test_SOURCES = store/object/wide_test.c $(store_fixture)
store_object_wide_test_LDADD = $(store_test_libs)
store_object_fetched_test_LDADD = $(store_test_libs)
store_object_move_test_LDADD = $(store_test_libs)
store_object_proxy_test_SOURCES = store/object/proxy_test.c $(store_fixture)
store_object_proxy_test_LDADD = $(store_test_libs)
store_account_quota_test_SOURCES = store/account/quota_test.c $(store_fixture)
store_account_quota_test_LDADD = $(store_test_libs)
store_object_reclaim_test_SOURCES = store/object/reclaim_test.c $(store_fixture)
store_object_reclaim_test_LDADD = $(store_test_libs)
store_object_ref_test_SOURCES = store/object/ref_test.c $(store_fixture)
store_object_ref_test_LDADD = $(store_test_libs)
store_room_room_test_SOURCES = store/room/room_test.c store/room/host_test.h $(store_fixture)
store_room_room_test_LDADD = $(store_test_libs)
store_room_queue_test_SOURCES = store/room/queue_test.c store/room/host_test.h $(store_fixture)
store_room_queue_test_LDADD = $(store_test_libs)
store_room_vain_test_SOURCES = store/room/vain_test.c store/room/host_test.h $(store_fixture)
store_room_vain_test_LDADD = $(store_test_libs)
store_room_search_test_SOURCES = store/room/search_test.c $(store_fixture)
store_room_search_test_LDADD = $(store_test_libs)
store_object_transfer_test_SOURCES = store/object/transfer_test.c $(store_fixture)
store_object_transfer_test_LDADD = $(store_test_libs)
