# Tests with real processes; each starts its own daemon from this build tree.
integration_tests =
# What many programs are made of comes without its headers: a release names each program's files in one command line.
integration_sources = tests/integration/gpus.c tests/integration/group.c tests/integration/harness.c \
	tests/integration/listed.c tests/integration/others.c tests/integration/trace.c
noinst_HEADERS += tests/integration/folder.h tests/integration/frame.h tests/integration/gpus.h tests/integration/group.h \
	tests/integration/harness.h tests/integration/raw.h tests/integration/scene.h tests/integration/trace.h
dist_check_SCRIPTS += tests/integration/gpus_test.sh
TESTS += tests/integration/gpus_test.sh
integration_folder = tests/integration/folder.c
integration_metrics = tests/integration/operator/exposition.c tests/integration/operator/exposition.h  \
	tests/integration/operator/http.c tests/integration/operator/http.h
integration_raw = tests/integration/frame.c tests/integration/raw.c
integration_scene = tests/integration/scene.c
integration_cluster = tests/conformance/server.c tests/conformance/server.h tests/integration/cluster/cluster.c \
	tests/integration/cluster/cluster.h $(integration_folder)
integration_exchange = tests/integration/cluster/exchange.c tests/integration/cluster/exchange.h \
	tests/integration/cluster/trader.c tests/integration/cluster/trader.h $(integration_cluster) $(integration_sources)
integration_relay = tests/integration/cluster/relay.c tests/integration/cluster/relay.h daemon/transport/greeting.c
integration_libraries = libclient/libclient.la $(CMOCKA_LIBS) -lm

integration_tests += tests/integration/client/calls_test
tests_integration_client_calls_test_SOURCES = tests/integration/client/calls_test.c $(integration_sources)
tests_integration_client_calls_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/clients_test
tests_integration_client_clients_test_SOURCES = tests/integration/client/clients_test.c tests/integration/process.c  \
	tests/integration/process.h $(integration_sources)
tests_integration_client_clients_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/crowd_test
tests_integration_client_crowd_test_SOURCES = tests/integration/client/crowd_test.c $(integration_sources)
tests_integration_client_crowd_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/fork_test
tests_integration_client_fork_test_SOURCES = tests/integration/client/fork_test.c $(integration_sources)
tests_integration_client_fork_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/outcomes_test
tests_integration_client_outcomes_test_SOURCES = tests/integration/client/outcomes_test.c $(integration_sources)
tests_integration_client_outcomes_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/replies_test
tests_integration_client_replies_test_SOURCES = tests/integration/client/replies_test.c $(integration_raw) $(integration_sources)
tests_integration_client_replies_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/rude_test
tests_integration_client_rude_test_SOURCES = tests/integration/client/rude_test.c tests/integration/older.c  \
	tests/integration/older.h tests/integration/process.c $(integration_raw) $(integration_sources)
tests_integration_client_rude_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/share_test
tests_integration_client_share_test_SOURCES = tests/integration/client/share_test.c $(integration_folder) \
	tests/integration/other.c  tests/integration/other.h $(integration_sources)
tests_integration_client_share_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/tenants_test tests/integration/client/beside_test
tests_integration_client_tenants_test_SOURCES = tests/integration/client/tenants_test.c tests/integration/other.c  \
	tests/integration/other.h $(integration_sources)
tests_integration_client_tenants_test_LDADD = $(integration_libraries)
tests_integration_client_beside_test_SOURCES = tests/integration/client/beside_test.c tests/integration/other.c  \
	tests/integration/other.h $(integration_sources)
tests_integration_client_beside_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/vandal_test
tests_integration_client_vandal_test_SOURCES = tests/integration/client/vandal_test.c $(integration_raw) $(integration_sources)
tests_integration_client_vandal_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/cluster/tenant_test
tests_integration_cluster_tenant_test_SOURCES = tests/integration/cluster/tenant_test.c $(integration_cluster) $(integration_sources)
tests_integration_cluster_tenant_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/drain_test
tests_integration_cluster_drain_test_SOURCES = tests/integration/cluster/drain_test.c $(integration_cluster) \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_sources)
tests_integration_cluster_drain_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/objects_test
tests_integration_cluster_objects_test_SOURCES = tests/integration/cluster/objects_test.c $(integration_cluster) $(integration_sources)
tests_integration_cluster_objects_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/fault_test
tests_integration_cluster_fault_test_SOURCES = tests/integration/cluster/fault_test.c $(integration_exchange)
tests_integration_cluster_fault_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/capture/capture_test
tests_integration_cluster_capture_capture_test_SOURCES = tests/integration/cluster/capture/capture.c tests/integration/cluster/capture/capture.h \
	tests/integration/cluster/capture/capture_test.c $(integration_cluster) $(integration_sources)
tests_integration_cluster_capture_capture_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/forget_test
tests_integration_cluster_forget_test_SOURCES = tests/integration/cluster/forget_test.c $(integration_exchange)
tests_integration_cluster_forget_test_LDADD = $(integration_libraries) base/libbase.la $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/cut_test
tests_integration_cluster_cut_test_SOURCES = tests/integration/cluster/cut_test.c $(integration_relay) $(integration_exchange)
tests_integration_cluster_cut_test_LDADD = $(integration_libraries) base/libbase.la $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/handing_test
tests_integration_cluster_handing_test_SOURCES = tests/integration/cluster/handing_test.c $(integration_cluster) $(integration_sources)
tests_integration_cluster_handing_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/flood_test
tests_integration_cluster_flood_test_SOURCES = tests/integration/cluster/flood_test.c $(integration_raw) $(integration_cluster) \
	$(integration_sources)
tests_integration_cluster_flood_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/hosts_test
tests_integration_cluster_hosts_test_SOURCES = tests/integration/cluster/hosts_test.c $(integration_cluster) \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_metrics) $(integration_sources)
tests_integration_cluster_hosts_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/listings_test
tests_integration_cluster_listings_test_SOURCES = tests/integration/cluster/listings_test.c $(integration_cluster) \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_sources)
tests_integration_cluster_listings_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/trace_test
tests_integration_cluster_trace_test_SOURCES = tests/integration/cluster/trace_test.c $(integration_cluster) $(integration_sources)
tests_integration_cluster_trace_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/clocks_test
tests_integration_cluster_clocks_test_SOURCES = tests/integration/cluster/clocks_test.c tests/integration/operator/chain.c \
	tests/integration/operator/chain.h tests/integration/operator/command.c tests/integration/operator/command.h $(integration_relay) \
	$(integration_cluster) $(integration_sources)
tests_integration_cluster_clocks_test_LDADD = $(integration_libraries) base/libbase.la $(HIREDIS_LIBS) $(JANSSON_LIBS)
integration_tests += tests/integration/cluster/why_test
tests_integration_cluster_why_test_SOURCES = tests/integration/cluster/why_test.c $(integration_cluster) \
	tests/integration/operator/chain.c tests/integration/operator/chain.h \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_sources)
tests_integration_cluster_why_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/hostile_test tests/integration/cluster/stranger_test
tests_integration_cluster_hostile_test_SOURCES = tests/integration/cluster/hostile_test.c daemon/peer/codec.c \
	daemon/transport/greeting.c $(integration_cluster) $(integration_sources)
tests_integration_cluster_hostile_test_LDADD = cluster/libcluster.la $(integration_libraries) wire/libwire.la base/libbase.la \
	$(PROTOBUF_C_LIBS) $(HIREDIS_LIBS)
tests_integration_cluster_stranger_test_SOURCES = tests/integration/cluster/stranger_test.c tests/integration/other.c \
	tests/integration/other.h $(integration_cluster) $(integration_sources)
tests_integration_cluster_stranger_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/cluster/names_test tests/integration/cluster/place_test
tests_integration_cluster_names_test_SOURCES = tests/integration/cluster/names_test.c $(integration_cluster) $(integration_sources)
tests_integration_cluster_names_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
tests_integration_cluster_place_test_SOURCES = tests/integration/cluster/place_test.c $(integration_cluster) $(integration_sources)
tests_integration_cluster_place_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/fault/deadlines_test
tests_integration_fault_deadlines_test_SOURCES = tests/integration/fault/deadlines_test.c $(integration_scene) \
	$(integration_folder) $(integration_sources)
tests_integration_fault_deadlines_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/endings_test
tests_integration_fault_endings_test_SOURCES = tests/integration/fault/endings_test.c $(integration_scene)  $(integration_sources)
tests_integration_fault_endings_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/faults_test
tests_integration_fault_faults_test_SOURCES = tests/integration/fault/faults_test.c $(integration_scene) $(integration_sources)
tests_integration_fault_faults_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/held_test
tests_integration_fault_held_test_SOURCES = tests/integration/fault/held_test.c $(integration_sources)
tests_integration_fault_held_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/kills_test
tests_integration_fault_kills_test_SOURCES = tests/integration/fault/kills_test.c $(integration_sources)
tests_integration_fault_kills_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/launched_test
tests_integration_fault_launched_test_SOURCES = tests/integration/fault/launched_test.c $(integration_scene) $(integration_sources)
tests_integration_fault_launched_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/parts_test
tests_integration_fault_parts_test_SOURCES = tests/integration/fault/parts_test.c $(integration_scene) $(integration_sources)
tests_integration_fault_parts_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/stalls_test
tests_integration_fault_stalls_test_SOURCES = tests/integration/fault/stalls_test.c $(integration_scene) \
	tests/integration/operator/chain.c tests/integration/operator/chain.h $(integration_folder) $(integration_sources)
tests_integration_fault_stalls_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/steps_test
tests_integration_fault_steps_test_SOURCES = tests/integration/fault/steps_test.c tests/integration/fault/places.c  \
	tests/integration/fault/places.h $(integration_sources)
tests_integration_fault_steps_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/torture_test
tests_integration_fault_torture_test_SOURCES = tests/integration/fault/torture_test.c $(integration_sources)
tests_integration_fault_torture_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/host/daemon_test
tests_integration_host_daemon_test_SOURCES = tests/integration/host/daemon_test.c $(integration_raw) $(integration_folder)  \
	$(integration_sources)
tests_integration_host_daemon_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/host/cuda_cache_test
tests_integration_host_cuda_cache_test_SOURCES = tests/integration/host/cuda_cache_test.c $(integration_scene) $(integration_folder) \
	$(integration_sources)
tests_integration_host_cuda_cache_test_LDADD = $(integration_libraries)

integration_tests += tests/integration/host/folders_test
tests_integration_host_folders_test_SOURCES = tests/integration/host/folders_test.c $(integration_folder) $(integration_sources)
tests_integration_host_folders_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/host/outage_test
tests_integration_host_outage_test_SOURCES = tests/integration/host/outage_test.c $(integration_raw) $(integration_folder)  \
	$(integration_sources)
tests_integration_host_outage_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/host/service_test
tests_integration_host_service_test_SOURCES = tests/integration/host/service_test.c $(integration_folder) $(integration_raw) $(integration_sources)
tests_integration_host_service_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/host/settings_test
tests_integration_host_settings_test_SOURCES = tests/integration/host/settings_test.c $(integration_folder)  $(integration_sources)
tests_integration_host_settings_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/host/starts_test
tests_integration_host_starts_test_SOURCES = tests/integration/host/starts_test.c $(integration_sources)
tests_integration_host_starts_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/host/third_host_test
tests_integration_host_third_host_test_SOURCES = tests/integration/host/third_host_test.c $(integration_folder)  $(integration_sources)
tests_integration_host_third_host_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/churn_test
tests_integration_object_churn_test_SOURCES = tests/integration/object/churn_test.c tests/integration/process.c  \
	tests/integration/process.h $(integration_sources)
tests_integration_object_churn_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/frozen_test
tests_integration_object_frozen_test_SOURCES = tests/integration/object/frozen_test.c tests/integration/other.c  \
	tests/integration/other.h $(integration_sources)
tests_integration_object_frozen_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/hold_test
tests_integration_object_hold_test_SOURCES = tests/integration/object/hold_test.c $(integration_sources)
tests_integration_object_hold_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/listings_test
tests_integration_object_listings_test_SOURCES = tests/integration/object/listings_test.c $(integration_sources)
tests_integration_object_listings_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/move_test
tests_integration_object_move_test_SOURCES = tests/integration/object/move_test.c $(integration_sources)
tests_integration_object_move_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/notify_test
tests_integration_object_notify_test_SOURCES = tests/integration/object/notify_test.c $(integration_sources)
tests_integration_object_notify_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/objects_test
tests_integration_object_objects_test_SOURCES = tests/integration/object/objects_test.c $(integration_sources)
tests_integration_object_objects_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/transfer_test
tests_integration_object_transfer_test_SOURCES = tests/integration/object/transfer_test.c $(integration_sources)
tests_integration_object_transfer_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/waits_test
tests_integration_object_waits_test_SOURCES = tests/integration/object/waits_test.c $(integration_raw) $(integration_sources)
tests_integration_object_waits_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/exits_test
tests_integration_operator_exits_test_SOURCES = tests/integration/operator/exits_test.c tests/integration/operator/command.c  \
	tests/integration/operator/command.h $(integration_scene) $(integration_sources)
tests_integration_operator_exits_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/hands_test
tests_integration_operator_hands_test_SOURCES = tests/integration/operator/hands_test.c tests/integration/operator/command.c  \
	tests/integration/operator/command.h $(integration_sources)
tests_integration_operator_hands_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/http_test
tests_integration_operator_http_test_SOURCES = tests/integration/operator/http_test.c $(integration_metrics)  $(integration_sources)
tests_integration_operator_http_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/quota_test
tests_integration_operator_quota_test_SOURCES = tests/integration/operator/quota_test.c $(integration_folder) tests/integration/other.c  \
	tests/integration/other.h $(integration_sources)
tests_integration_operator_quota_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/screen_test
tests_integration_operator_screen_test_SOURCES = tests/integration/operator/screen_test.c  \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_sources)
tests_integration_operator_screen_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/timeline_test
tests_integration_operator_timeline_test_SOURCES = tests/integration/operator/timeline_test.c  \
	tests/integration/operator/chrome.c tests/integration/operator/chrome.h tests/integration/operator/recording.c  \
	tests/integration/operator/recording.h tests/integration/operator/command.c tests/integration/operator/command.h  \
	$(integration_sources)
tests_integration_operator_timeline_test_LDADD = $(integration_libraries) $(JANSSON_LIBS)
integration_tests += tests/integration/operator/trials_test
tests_integration_operator_trials_test_SOURCES = tests/integration/operator/trials_test.c  \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_scene)  $(integration_sources)
tests_integration_operator_trials_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/why_memory_test
tests_integration_operator_why_memory_test_SOURCES = tests/integration/operator/why_memory_test.c  \
	tests/integration/operator/chain.c tests/integration/operator/chain.h $(integration_sources)
tests_integration_operator_why_memory_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/why_test tests/integration/operator/why_run_test
tests_integration_operator_why_test_SOURCES = tests/integration/operator/why_test.c tests/integration/operator/why.h  \
	tests/integration/operator/chain.c tests/integration/operator/chain.h $(integration_sources)
tests_integration_operator_why_test_LDADD = $(integration_libraries)
tests_integration_operator_why_run_test_SOURCES = tests/integration/operator/why_run_test.c tests/integration/operator/why.h  \
	tests/integration/operator/chain.c tests/integration/operator/chain.h $(integration_sources)
tests_integration_operator_why_run_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/admission_test
tests_integration_work_admission_test_SOURCES = tests/integration/work/admission_test.c $(integration_sources)
tests_integration_work_admission_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/burners_test
tests_integration_work_burners_test_SOURCES = tests/integration/work/burners_test.c $(integration_sources)
tests_integration_work_burners_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/lanes_test
tests_integration_work_lanes_test_SOURCES = tests/integration/work/lanes_test.c $(integration_raw) $(integration_sources)
tests_integration_work_lanes_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/messages_test
tests_integration_work_messages_test_SOURCES = tests/integration/work/messages_test.c $(integration_sources)
tests_integration_work_messages_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/modules_test
tests_integration_work_modules_test_SOURCES = tests/integration/work/modules_test.c $(integration_scene) $(integration_sources)
tests_integration_work_modules_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/order_test
tests_integration_work_order_test_SOURCES = tests/integration/work/order_test.c $(integration_sources)
tests_integration_work_order_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/pipeline_test
tests_integration_work_pipeline_test_SOURCES = tests/integration/work/pipeline_test.c $(integration_sources)
tests_integration_work_pipeline_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/reductions_test
tests_integration_work_reductions_test_SOURCES = tests/integration/work/reductions_test.c $(integration_sources)
tests_integration_work_reductions_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/refusals_test
tests_integration_work_refusals_test_SOURCES = tests/integration/work/refusals_test.c $(integration_sources)
tests_integration_work_refusals_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/runs_test
tests_integration_work_runs_test_SOURCES = tests/integration/work/runs_test.c $(integration_sources)
tests_integration_work_runs_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/stages_test
tests_integration_work_stages_test_SOURCES = tests/integration/work/stages_test.c tests/integration/operator/chrome.c  \
	tests/integration/operator/chrome.h tests/integration/operator/recording.c tests/integration/operator/recording.h  \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_sources)
tests_integration_work_stages_test_LDADD = $(integration_libraries) $(JANSSON_LIBS)
integration_tests += tests/integration/work/training_test
tests_integration_work_training_test_SOURCES = tests/integration/work/training_test.c $(integration_sources)
tests_integration_work_training_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/transfers_test
tests_integration_work_transfers_test_SOURCES = tests/integration/work/transfers_test.c $(integration_sources)
tests_integration_work_transfers_test_LDADD = $(integration_libraries)
integration_tests += tests/conformance/memory_test
tests_conformance_memory_test_SOURCES = tests/conformance/memory_test.c \
	$(integration_sources)
tests_conformance_memory_test_LDADD = executor/libexecutor.la $(integration_libraries)
integration_tests += tests/conformance/launch_cost_test
tests_conformance_launch_cost_test_SOURCES = tests/conformance/launch_cost_test.c \
	 $(integration_sources)
tests_conformance_launch_cost_test_LDADD = executor/libexecutor.la $(integration_libraries)
integration_tests += tests/conformance/kin_test
tests_conformance_kin_test_SOURCES = tests/conformance/kin_test.c \
	 $(integration_sources)
tests_conformance_kin_test_LDADD = executor/libexecutor.la $(integration_libraries)
integration_tests += tests/integration/work/cuda_test
tests_integration_work_cuda_test_SOURCES = tests/integration/work/cuda_test.c $(integration_scene) $(integration_folder) \
	tests/integration/operator/chain.c tests/integration/operator/chain.h $(integration_sources)
tests_integration_work_cuda_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/late_gpus_test
tests_integration_work_late_gpus_test_SOURCES = tests/integration/work/late_gpus_test.c $(integration_scene) $(integration_folder) \
	tests/integration/operator/chain.c tests/integration/operator/chain.h $(integration_sources)
tests_integration_work_late_gpus_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/object/pins_test
tests_integration_object_pins_test_SOURCES = tests/integration/object/pins_test.c tests/integration/process.c tests/integration/process.h $(integration_scene) $(integration_folder) \
	tests/integration/operator/chain.c tests/integration/operator/chain.h $(integration_sources)
tests_integration_object_pins_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/operator/gpu_facts_test
tests_integration_operator_gpu_facts_test_SOURCES = tests/integration/operator/gpu_facts_test.c $(integration_metrics) \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_scene) $(integration_folder) \
	$(integration_sources)
tests_integration_operator_gpu_facts_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/nccl_test tests/integration/work/nccl_channels_test
integration_nccl_scene = tests/integration/work/nccl_scene.c tests/integration/work/nccl_scene.h $(integration_scene) \
	$(integration_folder) $(integration_sources)
integration_tests += tests/integration/operator/gpu_overhead_test
tests_integration_operator_gpu_overhead_test_SOURCES = tests/integration/operator/gpu_overhead_test.c $(integration_metrics) \
	tests/integration/operator/command.c tests/integration/operator/command.h $(integration_nccl_scene)
tests_integration_operator_gpu_overhead_test_LDADD = $(integration_libraries)
tests_integration_work_nccl_test_SOURCES = tests/integration/work/nccl_test.c tests/integration/operator/chain.c \
	tests/integration/operator/chain.h $(integration_nccl_scene)
tests_integration_work_nccl_channels_test_SOURCES = tests/integration/work/nccl_channels_test.c $(integration_nccl_scene)
tests_integration_work_nccl_channels_test_LDADD = $(integration_libraries)
tests_integration_work_nccl_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/nccl_hangs_test
tests_integration_fault_nccl_hangs_test_SOURCES = tests/integration/fault/nccl_hangs_test.c $(integration_nccl_scene)
tests_integration_fault_nccl_hangs_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/nccl_ahead_test
tests_integration_fault_nccl_ahead_test_SOURCES = tests/integration/fault/nccl_ahead_test.c tests/integration/operator/chain.c \
	tests/integration/operator/chain.h $(integration_nccl_scene)
tests_integration_fault_nccl_ahead_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/sums_test
tests_integration_work_sums_test_SOURCES = tests/integration/work/sums_test.c $(integration_nccl_scene)
tests_integration_work_sums_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/scratch_test
tests_integration_work_scratch_test_SOURCES = tests/integration/work/scratch_test.c $(integration_scene) $(integration_folder) \
	tests/integration/other.c tests/integration/other.h $(integration_sources)
tests_integration_work_scratch_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/apart_test
tests_integration_work_apart_test_SOURCES = tests/integration/work/apart_test.c $(integration_cluster) $(integration_sources)
tests_integration_work_apart_test_LDADD = $(integration_libraries) $(HIREDIS_LIBS)
integration_tests += tests/integration/work/fetches_test
tests_integration_work_fetches_test_SOURCES = tests/integration/work/fetches_test.c $(integration_folder) \
	tests/integration/other.c tests/integration/other.h $(integration_scene) $(integration_sources)
tests_integration_work_fetches_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/client/residue_test
tests_integration_client_residue_test_SOURCES = tests/integration/client/residue_test.c $(integration_folder) \
	tests/integration/other.c tests/integration/other.h $(integration_scene) $(integration_sources)
tests_integration_client_residue_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/fault/reports_test
tests_integration_fault_reports_test_SOURCES = tests/integration/fault/reports_test.c $(integration_folder) $(integration_scene) \
	$(integration_sources)
tests_integration_fault_reports_test_LDADD = executor/libexecutor.la $(integration_libraries)
integration_tests += tests/integration/work/kinds_test
tests_integration_work_kinds_test_SOURCES = tests/integration/work/kinds_test.c $(integration_folder)  $(integration_sources)
tests_integration_work_kinds_test_LDADD = $(integration_libraries)
integration_tests += tests/integration/work/versions_test
tests_integration_work_versions_test_SOURCES = tests/integration/work/versions_test.c $(integration_folder)  $(integration_sources)
tests_integration_work_versions_test_LDADD = $(integration_libraries)

check_PROGRAMS += $(integration_tests)
TESTS += $(integration_tests)

# A module whose values tell which device made them.
check_LTLIBRARIES += tests/integration/modules/parts.la
tests_integration_modules_parts_la_SOURCES = tests/integration/modules/parts.c
tests_integration_modules_parts_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
# One whose kernels go wrong.
check_LTLIBRARIES += tests/integration/modules/gpu.la
tests_integration_modules_gpu_la_SOURCES = tests/integration/modules/gpu.c
tests_integration_modules_gpu_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
# One that is loaded for ever.
check_LTLIBRARIES += tests/integration/modules/endless.la
tests_integration_modules_endless_la_SOURCES = tests/integration/modules/endless.c
tests_integration_modules_endless_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
# One whose functions have scratch memory.
check_LTLIBRARIES += tests/integration/modules/scratch.la
tests_integration_modules_scratch_la_SOURCES = tests/integration/modules/scratch.c
tests_integration_modules_scratch_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
# One that tests build again, as it were.
check_LTLIBRARIES += tests/integration/modules/stamped.la
tests_integration_modules_stamped_la_SOURCES = tests/integration/modules/stamped.c
tests_integration_modules_stamped_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
# Preloaded into the daemon or a client: calls that fail on demand.
check_LTLIBRARIES += tests/integration/fault/inject.la
tests_integration_fault_inject_la_SOURCES = tests/integration/fault/inject.c
tests_integration_fault_inject_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
EXTRA_DIST += tests/integration/README.md
