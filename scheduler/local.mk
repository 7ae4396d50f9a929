# scheduler
noinst_LTLIBRARIES += scheduler/libscheduler.la
scheduler_libscheduler_la_LIBTOOLFLAGS = --tag=disable-shared
scheduler_libscheduler_la_SOURCES = scheduler/action.c scheduler/check.c scheduler/coordinator/ahead.c scheduler/coordinator/ask.c scheduler/coordinator/awaited.c scheduler/coordinator/cancel.c \
	scheduler/coordinator/deadline.c scheduler/coordinator/ended.c scheduler/coordinator/gather.c scheduler/coordinator/given_up.c scheduler/coordinator/start.c scheduler/coordinator/input.c scheduler/coordinator/report.c \
	scheduler/coordinator/resource.c scheduler/coordinator/result.c scheduler/rows.c scheduler/coordinator/run.c \
	scheduler/decision.c scheduler/deliver.c scheduler/island/admission.c scheduler/island/chain.c scheduler/island/device.c scheduler/island/island.c \
	scheduler/island/requester.c scheduler/island/lack.c scheduler/island/line.c scheduler/island/loss.c scheduler/island/memory.c \
	scheduler/island/host_result.c scheduler/island/host_run.c scheduler/island/fragment.c \
	scheduler/island/place.c scheduler/island/policy/policy.c scheduler/quota.c scheduler/island/ready.c \
	scheduler/island/input/host_input.c scheduler/island/record.c scheduler/island/reserve.c scheduler/island/policy/share.c scheduler/message.c scheduler/places.c scheduler/port.c scheduler/program.c scheduler/scheduler.c scheduler/step.c scheduler/taking.c scheduler/type.c
scheduler_libscheduler_la_LIBADD = program/libprogram.la plane/libplane.la base/libbase.la
noinst_HEADERS += scheduler/coordinator/ahead.h scheduler/coordinator/gather.h scheduler/coordinator/answer.h scheduler/coordinator/awaited.h scheduler/coordinator/live.h scheduler/decision.h scheduler/island/device.h scheduler/island/island.h \
	scheduler/island/requester.h scheduler/island/line.h \
	scheduler/island/host_result.h scheduler/island/host_run.h scheduler/island/fragment.h scheduler/island/policy/policy.h scheduler/quota.h scheduler/island/record.h scheduler/island/room.h \
	scheduler/message.h scheduler/port.h \
	scheduler/program.h scheduler/run.h scheduler/scheduler.h scheduler/state.h scheduler/step.h scheduler/taking.h
EXTRA_DIST += scheduler/README.md scheduler/coordinator/README.md scheduler/island/README.md

check_PROGRAMS += scheduler/coordinator/resource_test scheduler/message_test
TESTS += scheduler/coordinator/resource_test scheduler/message_test
scheduler_coordinator_resource_test_LDADD = scheduler/libscheduler.la store/libstore.la program/libprogram.la plane/libplane.la base/libbase.la  \
	 $(CMOCKA_LIBS)
scheduler_message_test_LDADD = scheduler/libscheduler.la base/libbase.la $(CMOCKA_LIBS)
