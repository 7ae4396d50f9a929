noinst_LTLIBRARIES += store/libstore.la
store_libstore_la_SOURCES = store/audit.c store/donate.c store/extent.c store/future.c store/holder.c store/idle.c store/name.c \
	store/object.c store/pages.c store/reclaim.c store/ref.c store/room.c store/store.c store/watch.c
store_libstore_la_LIBADD = plane/libplane.la base/libbase.la
noinst_HEADERS += store/action.h store/object.h store/parts.h store/state.h store/store.h
EXTRA_DIST += store/README.md
