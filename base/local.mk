noinst_LTLIBRARIES += base/libbase.la
base_libbase_la_SOURCES = base/status.c
base_libbase_la_LIBADD = $(INIH_LIBS)
noinst_HEADERS += base/error.h base/id.h base/list.h base/log.h base/memory.h base/option.h base/size.h base/table.h
