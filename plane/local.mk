noinst_LTLIBRARIES += plane/libplane.la
plane_libplane_la_SOURCES = plane/board/board.c plane/entry.c plane/hint.c plane/name.c plane/recount.c plane/ring.c \
	plane/segment.c plane/wide.c
noinst_HEADERS += plane/board/board.h plane/control.h plane/entry.h plane/hint.h plane/board/image.h plane/maps_test.h plane/name.h \
	plane/ring.h plane/recount.h plane/segment.h plane/wide.h

plane_tests = plane/board/board_test plane/entry_test plane/hint_test plane/name_test plane/ring_test plane/segment_test \
	plane/wide_test plane/stress_test
check_PROGRAMS += $(plane_tests)
TESTS += $(plane_tests)
plane_tests_libraries = plane/libplane.la base/libbase.la $(CMOCKA_LIBS) -lpthread
plane_board_board_test_SOURCES = plane/board/board_test.c
plane_board_board_test_LDADD = $(plane_tests_libraries)
plane_entry_test_SOURCES = plane/entry_test.c
plane_entry_test_LDADD = $(plane_tests_libraries)
plane_hint_test_SOURCES = plane/hint_test.c
plane_hint_test_LDADD = $(plane_tests_libraries)
plane_name_test_SOURCES = plane/name_test.c
plane_name_test_LDADD = $(plane_tests_libraries)
plane_ring_test_SOURCES = plane/ring_test.c
plane_ring_test_LDADD = $(plane_tests_libraries)
plane_segment_test_SOURCES = plane/segment_test.c
plane_segment_test_LDADD = $(plane_tests_libraries)
plane_wide_test_SOURCES = plane/wide_test.c
plane_wide_test_LDADD = $(plane_tests_libraries)
plane_stress_test_SOURCES = plane/stress_test.c
plane_stress_test_LDADD = $(plane_tests_libraries)
EXTRA_DIST += plane/README.md
