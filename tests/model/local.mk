# Models: the product's own sources over a <stdatomic.h> that lets the explorer choose who runs next. Nothing here is linked with
# the libraries of the tree: each source is built once more.
noinst_HEADERS += tests/model/explore.h tests/model/explore_private.h tests/model/models.h tests/model/point.h \
	tests/model/world.h tests/model/runs.h tests/model/shim/stdatomic.h
check_LTLIBRARIES += tests/model/libexplore.la
tests_model_libexplore_la_CPPFLAGS = $(AM_CPPFLAGS) -DPW_MODEL_EXPLORER
tests_model_libexplore_la_SOURCES = tests/model/explore.c tests/model/reduce.c tests/model/thread.c tests/model/state.c \
	tests/model/model.c
check_PROGRAMS += tests/model/model
TESTS += tests/model/model
tests_model_sizes = -DPW_RING_CELLS=4u -DPW_LANES_MAX=1u -DPW_NOTES_MAX=4u -DPW_LANE_REST=3712u -DFIRST_LOOKS=0u \
	-DRING_LOOKS=1u -DPW_CHUNK_SLOTS=2u -DPW_HINT_BUCKETS=2u -DPW_HINT_CHANGES=1u
tests_model_model_CPPFLAGS = -I$(top_srcdir)/tests/model/shim $(AM_CPPFLAGS) -include $(top_srcdir)/tests/model/point.h \
	$(tests_model_sizes)
tests_model_model_CFLAGS = $(AM_CFLAGS) -O2
tests_model_subjects = base/error.c base/handles.c base/hash.c base/heap.c base/id.c base/dims.c base/memory.c base/range.c \
	base/size.c base/size_class.c base/text.c base/status.c base/table.c $(plane_libplane_la_SOURCES) \
	$(store_libstore_la_SOURCES) daemon/client/input.c daemon/client/lane.c daemon/client/lane_end.c \
	daemon/client/scan.c daemon/client/object/move.c daemon/memory/recount.c daemon/loop/timer.c daemon/loop/turn.c libclient/object/frozen.c \
	libclient/object/future.c libclient/object/open.c libclient/socket/outgoing.c libclient/object/put.c \
	executor/gang/gang_fault.c executor/gang/gang_mark.c libclient/params.c libclient/room.c libclient/take.c libclient/object/unref.c libclient/object/wait.c
tests_model_sources = tests/model/world.c tests/model/client.c tests/model/stand_in.c tests/model/entry_model.c \
	tests/model/lane_model.c tests/model/executor/marked_model.c tests/model/reclaim_model.c tests/model/wait_model.c tests/model/letgo_model.c \
	tests/model/wide_model.c tests/model/runs.c tests/model/run_model.c tests/model/move_model.c tests/model/move_segment.c
tests_model_model_SOURCES = $(tests_model_sources) $(tests_model_subjects)
tests_model_model_LDADD = tests/model/libexplore.la wire/libwire.la $(PROTOBUF_C_LIBS)
dist_check_SCRIPTS += tests/model/mutations.sh tests/world/mutations.sh tests/world/cluster/mutations.sh \
	tests/gpu/mutations.sh

# Each row of them still changes what it names.
dist_check_SCRIPTS += tests/world/mutations_apply.sh
TESTS += tests/world/mutations_apply.sh
EXTRA_DIST += tests/model/README.md

# Each rule of the protocol is taken out once: a model notices. All take a quarter of an hour; -j has them side by side.
# Mutations are looked for with lanes read two cells at a time too, where all states take a quarter of an hour.
tests_model_mutation_flags = -DPW_LANE_QUANTUM=2u -Itests/model/shim -D_GNU_SOURCE -I. -Ibase -Ilibclient -I$(abs_top_builddir) \
	-I$(abs_top_builddir)/wire $(PROTOBUF_C_CFLAGS) -include tests/model/point.h $(tests_model_sizes)
world_mutation_flags = -D_GNU_SOURCE -I. -Ibase -Ilibclient -I$(abs_top_builddir)
world_mutation_libs = $(abs_top_builddir)/daemon/.libs/libboard.a $(abs_top_builddir)/store/.libs/libstore.a \
	$(abs_top_builddir)/program/.libs/libprogram.a $(abs_top_builddir)/plane/.libs/libplane.a $(abs_top_builddir)/base/.libs/libbase.a \
	$(CMOCKA_LIBS) -lm
gpu_mutation_flags = -D_GNU_SOURCE -D_DEFAULT_SOURCE -I. -Ibase -Ilibclient -I$(abs_top_builddir) -I$(abs_top_builddir)/wire \
	$(PROTOBUF_C_CFLAGS)
mutations: mutations-model mutations-world mutations-cluster mutations-gpu
mutations-built: all
	@$(MAKE) $(AM_MAKEFLAGS) check TESTS= >/dev/null
mutations-model: mutations-built
	@$(AM_TESTS_ENVIRONMENT) MODEL_CPPFLAGS='$(tests_model_mutation_flags)' MODEL_CFLAGS='-std=gnu11 -O1' \
	MODEL_SUBJECTS='$(tests_model_subjects)' MODEL_SOURCES='$(tests_model_sources)' \
	MODEL_LIBS='$(abs_top_builddir)/wire/.libs/pathways.pb-c.o $(PROTOBUF_C_LIBS)' '$(srcdir)/tests/model/mutations.sh'
mutations-world: mutations-built
	@$(AM_TESTS_ENVIRONMENT) WORLD_CPPFLAGS='$(world_mutation_flags)' WORLD_CFLAGS='-std=gnu11 -O1' \
	WORLD_SUBJECTS='$(scheduler_libscheduler_la_SOURCES)' WORLD_SOURCES='$(world_sources) $(hosts_sources)' \
	WORLD_LIBS='$(world_mutation_libs)' '$(srcdir)/tests/world/mutations.sh'
mutations-cluster: mutations-built
	@$(AM_TESTS_ENVIRONMENT) WORLD_CPPFLAGS='$(world_mutation_flags)' WORLD_CFLAGS='-std=gnu11 -O1' \
	CLUSTER_SUBJECTS='$(cluster_libcluster_la_SOURCES)' \
	CLUSTER_LIBS='$(abs_top_builddir)/base/.libs/libbase.a $(CMOCKA_LIBS) -lm' '$(srcdir)/tests/world/cluster/mutations.sh'
# Those of executors of GPUs take the integration tests, and the fakes.
mutations-gpu: mutations-built
	@$(AM_TESTS_ENVIRONMENT) GPU_CPPFLAGS='$(gpu_mutation_flags)' GPU_LIBS='$(PROTOBUF_C_LIBS) $(INIH_LIBS) -ldl -lpthread' \
	'$(srcdir)/tests/gpu/mutations.sh'
.PHONY: mutations mutations-built mutations-model mutations-world mutations-cluster mutations-gpu
