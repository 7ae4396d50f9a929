# Tests with real processes; each starts its own daemon from this build tree.
integration_tests =
integration_sources = tests/integration/group.c tests/integration/group.h tests/integration/harness.c tests/integration/harness.h tests/integration/look.c tests/integration/others.c tests/integration/trace.c \
	tests/integration/trace.h
integration_folder = tests/integration/folder.c tests/integration/folder.h
integration_metrics = tests/integration/exposition.c tests/integration/exposition.h tests/integration/http.c tests/integration/http.h
integration_raw = tests/integration/frame.c tests/integration/frame.h tests/integration/raw.c tests/integration/raw.h
integration_scene = tests/integration/scene.c tests/integration/scene.h
integration_libraries = libclient/libclient.la $(CMOCKA_LIBS) -lm

integration_tests += tests/integration/admission_test
tests_integration_admission_test_SOURCES = tests/integration/admission_test.c $(integration_sources)
tests_integration_admission_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/burners_test
tests_integration_burners_test_SOURCES = tests/integration/burners_test.c $(integration_sources)
tests_integration_burners_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/calls_test
tests_integration_calls_test_SOURCES = tests/integration/calls_test.c $(integration_sources)
tests_integration_calls_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/churn_test
tests_integration_churn_test_SOURCES = tests/integration/churn_test.c tests/integration/process.c tests/integration/process.h \
	$(integration_sources)
tests_integration_churn_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/clients_test
tests_integration_clients_test_SOURCES = tests/integration/clients_test.c tests/integration/process.c tests/integration/process.h \
	$(integration_sources)
tests_integration_clients_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/crowd_test
tests_integration_crowd_test_SOURCES = tests/integration/crowd_test.c $(integration_sources)
tests_integration_crowd_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/folders_test
tests_integration_folders_test_SOURCES = tests/integration/folders_test.c $(integration_folder) $(integration_sources)
tests_integration_folders_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/outcomes_test
tests_integration_outcomes_test_SOURCES = tests/integration/outcomes_test.c $(integration_sources)
tests_integration_outcomes_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/daemon_test
tests_integration_daemon_test_SOURCES = tests/integration/daemon_test.c $(integration_raw) $(integration_folder) $(integration_sources)
tests_integration_daemon_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/endings_test
tests_integration_endings_test_SOURCES = tests/integration/endings_test.c $(integration_scene) $(integration_sources)
tests_integration_endings_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/faults_test
tests_integration_faults_test_SOURCES = tests/integration/faults_test.c $(integration_scene) $(integration_sources)
tests_integration_faults_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/fork_test
tests_integration_fork_test_SOURCES = tests/integration/fork_test.c $(integration_sources)
tests_integration_fork_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/frozen_test
tests_integration_frozen_test_SOURCES = tests/integration/frozen_test.c tests/integration/other.c tests/integration/other.h \
	$(integration_sources)
tests_integration_frozen_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/exits_test
tests_integration_exits_test_SOURCES = tests/integration/exits_test.c tests/integration/command.c tests/integration/command.h $(integration_scene) \
	$(integration_sources)
tests_integration_exits_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/hands_test
tests_integration_hands_test_SOURCES = tests/integration/hands_test.c tests/integration/command.c tests/integration/command.h \
	$(integration_sources)
tests_integration_hands_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/trials_test
tests_integration_trials_test_SOURCES = tests/integration/trials_test.c tests/integration/command.c tests/integration/command.h \
	$(integration_scene) $(integration_sources)
tests_integration_trials_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/listings_test
tests_integration_listings_test_SOURCES = tests/integration/listings_test.c $(integration_sources)
tests_integration_listings_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/held_test
tests_integration_held_test_SOURCES = tests/integration/held_test.c $(integration_sources)
tests_integration_held_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/hold_test
tests_integration_hold_test_SOURCES = tests/integration/hold_test.c $(integration_sources)
tests_integration_hold_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/http_test
check_PROGRAMS += tests/integration/outage_test
TESTS += tests/integration/outage_test
tests_integration_outage_test_SOURCES = tests/integration/outage_test.c $(integration_raw) $(integration_folder) $(integration_sources)
tests_integration_outage_test_LDADD = $(integration_libraries)
tests_integration_http_test_SOURCES = tests/integration/http_test.c $(integration_metrics) $(integration_sources)
tests_integration_http_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/kills_test
tests_integration_kills_test_SOURCES = tests/integration/kills_test.c $(integration_sources)
tests_integration_kills_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/lanes_test
tests_integration_lanes_test_SOURCES = tests/integration/lanes_test.c $(integration_raw) $(integration_sources)
tests_integration_lanes_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/messages_test
tests_integration_messages_test_SOURCES = tests/integration/messages_test.c $(integration_sources)
tests_integration_messages_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/modules_test
tests_integration_modules_test_SOURCES = tests/integration/modules_test.c $(integration_scene) $(integration_sources)
tests_integration_modules_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/move_test
tests_integration_move_test_SOURCES = tests/integration/move_test.c $(integration_sources)
tests_integration_move_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/notify_test
tests_integration_notify_test_SOURCES = tests/integration/notify_test.c $(integration_sources)
tests_integration_notify_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/objects_test
tests_integration_objects_test_SOURCES = tests/integration/objects_test.c $(integration_sources)
tests_integration_objects_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/order_test
tests_integration_order_test_SOURCES = tests/integration/order_test.c $(integration_sources)
tests_integration_order_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/pipeline_test
tests_integration_pipeline_test_SOURCES = tests/integration/pipeline_test.c $(integration_sources)
tests_integration_pipeline_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/quota_test
tests_integration_quota_test_SOURCES = tests/integration/quota_test.c tests/integration/other.c tests/integration/other.h \
	$(integration_sources)
tests_integration_quota_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/refusals_test
tests_integration_refusals_test_SOURCES = tests/integration/refusals_test.c $(integration_sources)
tests_integration_refusals_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/runs_test
tests_integration_runs_test_SOURCES = tests/integration/runs_test.c $(integration_sources)
tests_integration_runs_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/screen_test
tests_integration_screen_test_SOURCES = tests/integration/screen_test.c tests/integration/command.c tests/integration/command.h \
	$(integration_sources)
tests_integration_screen_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/service_test
tests_integration_service_test_SOURCES = tests/integration/service_test.c $(integration_folder) $(integration_sources)
tests_integration_service_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/starts_test
tests_integration_starts_test_SOURCES = tests/integration/starts_test.c $(integration_sources)
tests_integration_starts_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/steps_test
tests_integration_steps_test_SOURCES = tests/integration/steps_test.c tests/integration/places.c tests/integration/places.h \
	$(integration_sources)
tests_integration_steps_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/tenants_test
tests_integration_tenants_test_SOURCES = tests/integration/tenants_test.c tests/integration/other.c tests/integration/other.h \
	$(integration_sources)
tests_integration_tenants_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/settings_test
tests_integration_settings_test_SOURCES = tests/integration/settings_test.c $(integration_folder) $(integration_sources)
tests_integration_settings_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/stages_test
tests_integration_stages_test_SOURCES = tests/integration/stages_test.c tests/integration/chrome.c tests/integration/chrome.h \
	tests/integration/recording.c tests/integration/recording.h tests/integration/command.c tests/integration/command.h $(integration_sources)
tests_integration_stages_test_LDADD = $(integration_libraries) $(JANSSON_LIBS)

integration_tests += tests/integration/third_host_test
tests_integration_third_host_test_SOURCES = tests/integration/third_host_test.c $(integration_folder) $(integration_sources)
tests_integration_third_host_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/timeline_test
tests_integration_timeline_test_SOURCES = tests/integration/timeline_test.c tests/integration/chrome.c tests/integration/chrome.h \
	tests/integration/recording.c tests/integration/recording.h tests/integration/command.c tests/integration/command.h $(integration_sources)
tests_integration_timeline_test_LDADD = $(integration_libraries) $(JANSSON_LIBS)

integration_tests += tests/integration/torture_test
tests_integration_torture_test_SOURCES = tests/integration/torture_test.c $(integration_sources)
tests_integration_torture_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/training_test
tests_integration_training_test_SOURCES = tests/integration/training_test.c $(integration_sources)
tests_integration_training_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/transfer_test
tests_integration_transfer_test_SOURCES = tests/integration/transfer_test.c $(integration_sources)
tests_integration_transfer_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/transfers_test
tests_integration_transfers_test_SOURCES = tests/integration/transfers_test.c $(integration_sources)
tests_integration_transfers_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/rude_test
tests_integration_rude_test_SOURCES = tests/integration/rude_test.c tests/integration/older.c tests/integration/older.h tests/integration/process.c $(integration_raw) $(integration_sources)
tests_integration_rude_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/vandal_test
tests_integration_vandal_test_SOURCES = tests/integration/vandal_test.c $(integration_raw) $(integration_sources)
tests_integration_vandal_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/versions_test
tests_integration_versions_test_SOURCES = tests/integration/versions_test.c $(integration_folder) $(integration_sources)
tests_integration_versions_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/waits_test
tests_integration_waits_test_SOURCES = tests/integration/waits_test.c $(integration_raw) $(integration_sources)
tests_integration_waits_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/why_memory_test
tests_integration_why_memory_test_SOURCES = tests/integration/why_memory_test.c tests/integration/chain.c tests/integration/chain.h $(integration_sources)
tests_integration_why_memory_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/why_test
tests_integration_why_test_SOURCES = tests/integration/why_test.c tests/integration/chain.c tests/integration/chain.h $(integration_sources)
tests_integration_why_test_LDADD = $(integration_libraries)

check_PROGRAMS += $(integration_tests)
TESTS += $(integration_tests)

# A module whose values tell which device made them.
check_LTLIBRARIES += tests/integration/modules/parts.la
tests_integration_modules_parts_la_SOURCES = tests/integration/modules/parts.c
tests_integration_modules_parts_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
# One that tests build again, as it were.
check_LTLIBRARIES += tests/integration/modules/stamped.la
tests_integration_modules_stamped_la_SOURCES = tests/integration/modules/stamped.c
tests_integration_modules_stamped_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
# Preloaded into the daemon or a client: calls that fail on demand.
check_LTLIBRARIES += tests/integration/inject.la
tests_integration_inject_la_SOURCES = tests/integration/inject.c
tests_integration_inject_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
EXTRA_DIST += tests/integration/README.md
