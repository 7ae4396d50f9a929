# scheduler

# From a traced program to an image.
noinst_LTLIBRARIES += scheduler/libscheduler.la
scheduler_libscheduler_la_SOURCES = scheduler/convert.c scheduler/credit.c scheduler/graph.c scheduler/graph_check.c scheduler/heights.c scheduler/image.c \
	scheduler/image_check.c scheduler/image_print.c scheduler/lifetime.c scheduler/lower.c scheduler/reach.c scheduler/shape.c \
	scheduler/stage.c scheduler/transfer.c scheduler/wait.c
scheduler_libscheduler_la_LIBADD = plane/libplane.la base/libbase.la
noinst_HEADERS += scheduler/graph.h scheduler/heights.h scheduler/lower.h scheduler/lowering.h scheduler/shape.h scheduler/transfer.h
scheduler_tests = scheduler/graph_test scheduler/heights_test scheduler/large_test scheduler/layouts_test scheduler/lower_test scheduler/rooms_test scheduler/shape_test scheduler/stage_test scheduler/transfer_test
check_PROGRAMS += $(scheduler_tests)
TESTS += $(scheduler_tests)
noinst_HEADERS += scheduler/graph_make.h scheduler/rooms_sim.h
scheduler_graph_test_SOURCES = scheduler/graph_test.c scheduler/graph_make.c
scheduler_large_test_SOURCES = scheduler/large_test.c scheduler/graph_make.c
scheduler_layouts_test_SOURCES = scheduler/layouts_test.c scheduler/graph_make.c scheduler/rooms_direct.c scheduler/rooms_sim.c
scheduler_lower_test_SOURCES = scheduler/lower_test.c scheduler/graph_make.c
scheduler_rooms_test_SOURCES = scheduler/rooms_test.c scheduler/graph_make.c scheduler/rooms_direct.c scheduler/rooms_sim.c
scheduler_shape_test_SOURCES = scheduler/shape_test.c scheduler/graph_make.c
scheduler_stage_test_SOURCES = scheduler/stage_test.c scheduler/graph_make.c
scheduler_graph_test_LDADD = $(scheduler_test_libs)
scheduler_large_test_LDADD = $(scheduler_test_libs)
scheduler_layouts_test_LDADD = $(scheduler_test_libs)
scheduler_lower_test_LDADD = $(scheduler_test_libs)
scheduler_rooms_test_LDADD = $(scheduler_test_libs)
scheduler_shape_test_LDADD = $(scheduler_test_libs)
scheduler_heights_test_LDADD = $(scheduler_test_libs)
scheduler_stage_test_LDADD = $(scheduler_test_libs)
scheduler_transfer_test_LDADD = $(scheduler_test_libs)
scheduler_test_libs = scheduler/libscheduler.la plane/libplane.la base/libbase.la $(CMOCKA_LIBS)

# From a compiled program to gangs in order.
scheduler_libscheduler_la_SOURCES += scheduler/action.c scheduler/admission.c scheduler/chain.c scheduler/check.c scheduler/device.c scheduler/ended.c \
	scheduler/gangs.c scheduler/host.c scheduler/island.c scheduler/loss.c scheduler/memory.c scheduler/place.c scheduler/plan.c \
	scheduler/policy.c scheduler/prepare.c scheduler/program.c scheduler/report.c scheduler/resource.c scheduler/result.c \
	scheduler/rows.c scheduler/run.c scheduler/scheduler.c
scheduler_libscheduler_la_SOURCES += scheduler/lack.c scheduler/line.c scheduler/quota.c scheduler/ready.c
noinst_HEADERS += scheduler/device.h scheduler/host.h scheduler/island.h scheduler/line.h scheduler/live.h scheduler/prepare.h \
	scheduler/program.h scheduler/quota.h scheduler/run.h scheduler/scheduler.h scheduler/state.h
EXTRA_DIST += scheduler/README.md
scheduler_libscheduler_la_SOURCES += scheduler/cancel.c scheduler/deadline.c
scheduler_resource_tests = scheduler/resource_test
check_PROGRAMS += $(scheduler_resource_tests)
TESTS += $(scheduler_resource_tests)
scheduler_resource_test_LDADD = $(scheduler_test_libs)
