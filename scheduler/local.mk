# scheduler
noinst_LTLIBRARIES += scheduler/libscheduler.la
scheduler_libscheduler_la_SOURCES = scheduler/action.c scheduler/admission.c scheduler/cancel.c scheduler/chain.c \
	scheduler/check.c scheduler/deadline.c scheduler/device.c scheduler/ended.c scheduler/input.c scheduler/island.c \
	scheduler/lack.c scheduler/line.c scheduler/loss.c scheduler/memory.c scheduler/place.c scheduler/policy.c \
	scheduler/program.c scheduler/quota.c scheduler/ready.c scheduler/record.c scheduler/report.c scheduler/resource.c \
	scheduler/result.c scheduler/rows.c scheduler/run.c scheduler/scheduler.c scheduler/share.c
scheduler_libscheduler_la_LIBADD = program/libprogram.la plane/libplane.la base/libbase.la
noinst_HEADERS += scheduler/device.h scheduler/island.h scheduler/line.h scheduler/live.h scheduler/message.h \
	scheduler/policy.h scheduler/program.h scheduler/quota.h scheduler/record.h scheduler/run.h scheduler/scheduler.h \
	scheduler/state.h
EXTRA_DIST += scheduler/README.md

check_PROGRAMS += scheduler/resource_test
TESTS += scheduler/resource_test
scheduler_resource_test_LDADD = scheduler/libscheduler.la program/libprogram.la plane/libplane.la base/libbase.la $(CMOCKA_LIBS)
