# program
noinst_LTLIBRARIES += program/libprogram.la
program_libprogram_la_LIBTOOLFLAGS = --tag=disable-shared
program_libprogram_la_SOURCES = program/graph/cells.c program/graph/graph.c program/graph/graph_check.c program/graph/shape.c \
	program/image/image_check.c program/image/image_peak.c program/image/image_print.c program/image/plan.c \
	program/lower/convert.c program/lower/credit.c program/lower/heights.c program/lower/image.c program/lower/lifetime.c \
	program/lower/lower.c program/lower/reach.c program/lower/spread.c program/lower/stage.c program/lower/transfer.c \
	program/lower/wait.c
program_libprogram_la_LIBADD = plane/libplane.la base/libbase.la
noinst_HEADERS += program/graph/cells.h program/graph/graph.h program/graph/graph_make.h program/graph/shape.h \
	program/image/image.h program/image/plan.h program/lower/heights.h program/lower/lower.h program/lower/lowering.h \
	program/lower/spread.h program/lower/transfer.h
EXTRA_DIST += program/README.md

program_tests = program/graph/cells_test program/graph/graph_test program/graph/shape_test program/lower/heights_test \
	program/lower/large_test program/lower/lower_test program/lower/parts_test program/lower/stage_test program/lower/transfer_test \
	tests/program/layouts_test tests/program/rooms_test tests/program/wide_test tests/program/wide_runs_test
check_PROGRAMS += $(program_tests)
TESTS += $(program_tests)
program_test_libs = program/libprogram.la plane/libplane.la base/libbase.la $(CMOCKA_LIBS)
program_graph_cells_test_LDADD = $(program_test_libs)
program_graph_graph_test_SOURCES = program/graph/graph_test.c program/graph/graph_make.c
program_graph_graph_test_LDADD = $(program_test_libs)
program_graph_shape_test_SOURCES = program/graph/shape_test.c program/graph/graph_make.c
program_graph_shape_test_LDADD = $(program_test_libs)
program_lower_heights_test_LDADD = $(program_test_libs)
program_lower_large_test_SOURCES = program/lower/large_test.c program/graph/graph_make.c
program_lower_large_test_LDADD = $(program_test_libs)
program_lower_lower_test_SOURCES = program/lower/lower_test.c program/lower/lower_fixture.h program/graph/graph_make.c
program_lower_lower_test_LDADD = $(program_test_libs)
program_lower_parts_test_SOURCES = program/lower/parts_test.c program/lower/lower_fixture.h program/graph/graph_make.c
program_lower_parts_test_LDADD = $(program_test_libs)
program_lower_stage_test_SOURCES = program/lower/stage_test.c program/graph/graph_make.c
program_lower_stage_test_LDADD = $(program_test_libs)
program_lower_transfer_test_LDADD = $(program_test_libs)

# The proof: random programs, run on virtual devices, against direct evaluation.
noinst_HEADERS += tests/program/rooms_sim.h tests/program/wide.h
EXTRA_DIST += tests/program/README.md
program_sim = tests/program/rooms_direct.c tests/program/rooms_sim.c program/graph/graph_make.c
tests_program_layouts_test_SOURCES = tests/program/layouts_test.c $(program_sim)
tests_program_layouts_test_LDADD = $(program_test_libs)
tests_program_rooms_test_SOURCES = tests/program/rooms_test.c $(program_sim)
tests_program_rooms_test_LDADD = $(program_test_libs)
tests_program_wide_test_SOURCES = tests/program/wide_test.c tests/program/wide.c program/graph/graph_make.c
tests_program_wide_test_LDADD = $(program_test_libs)
tests_program_wide_runs_test_SOURCES = tests/program/wide_runs_test.c tests/program/wide.c program/graph/graph_make.c
tests_program_wide_runs_test_LDADD = scheduler/libscheduler.la store/libstore.la $(program_test_libs)
