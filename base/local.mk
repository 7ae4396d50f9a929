noinst_LTLIBRARIES += base/libbase.la
base_libbase_la_SOURCES = base/box.c base/box_reduce.c base/dims.c base/error.c base/handles.c base/id.c base/layout.c \
	base/log.c base/memory.c base/nearest.c base/range.c base/option.c base/option_change.c base/option_file.c base/option_help.c base/option_value.c \
	base/size.c base/size_class.c base/sources.c base/standard.c base/status.c base/table.c base/text.c
base_libbase_la_LIBADD = $(INIH_LIBS)
noinst_HEADERS += base/anywhere.h base/box_rows.h base/error.h base/half.h base/id.h base/layout.h base/list.h base/log.h base/memory.h \
	base/option.h base/option_value.h base/range.h base/size.h base/sources.h base/standard.h base/table.h base/text.h base/yield.h

base_libbase_la_SOURCES += base/box_reduce_half.c
noinst_HEADERS += base/box_reduce_half.h

base_libbase_la_SOURCES += base/gather.c base/hash.c base/heap.c base/host_name.c base/library.c base/log_limit.c base/numbers.c base/transition.c
noinst_HEADERS += base/bits.h base/gather.h base/hash.h base/heap.h base/host_name.h base/library.h base/log_limit.h base/numbers.h base/transition.h

base_tests = base/box_reduce_test base/dims_test base/error_test base/half_test base/id_test base/layout_test base/log_test base/memory_test \
	base/option_test base/range_test base/size_test base/sources_test base/status_test base/table_test base/text_test
base_tests += base/gather_test base/hash_test base/heap_test base/host_name_test base/log_limit_test base/numbers_test base/transition_test base/yield_test
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)
EXTRA_DIST += base/README.md

base_box_reduce_test_LDADD = $(base_test_libs) -lm
base_dims_test_LDADD = $(base_test_libs)
base_error_test_LDADD = $(base_test_libs)
base_half_test_LDADD = $(base_test_libs) -lm
base_gather_test_LDADD = $(base_test_libs)
base_hash_test_LDADD = $(base_test_libs)
base_host_name_test_LDADD = $(base_test_libs)
base_heap_test_LDADD = $(base_test_libs)
base_numbers_test_LDADD = $(base_test_libs)
base_id_test_LDADD = $(base_test_libs)
base_layout_test_LDADD = $(base_test_libs)
base_log_limit_test_LDADD = $(base_test_libs)
base_log_test_LDADD = $(base_test_libs)
base_memory_test_LDADD = $(base_test_libs)
base_option_test_LDADD = $(base_test_libs)
base_range_test_LDADD = $(base_test_libs)
base_size_test_LDADD = $(base_test_libs)
base_sources_test_LDADD = $(base_test_libs)
base_status_test_LDADD = $(base_test_libs)
base_table_test_LDADD = $(base_test_libs)
base_text_test_LDADD = $(base_test_libs)
base_transition_test_LDADD = $(base_test_libs)
base_yield_test_LDADD = $(base_test_libs)
base_test_libs = base/libbase.la $(CMOCKA_LIBS)
