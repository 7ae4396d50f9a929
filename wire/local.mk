# wire
noinst_LTLIBRARIES += wire/libwire.la
wire_libwire_la_SOURCES = wire/frame.c wire/decoder.c
nodist_wire_libwire_la_SOURCES = wire/pathways.pb-c.c wire/pathways.pb-c.h wire/peer.pb-c.c wire/peer.pb-c.h
wire_libwire_la_LIBADD = $(PROTOBUF_C_LIBS)
noinst_HEADERS += wire/frame.h
EXTRA_DIST += wire/README.md wire/pathways.proto wire/peer.proto

wire/%.pb-c.h: wire/%.proto
	$(AM_V_GEN)$(MKDIR_P) wire && $(PROTOC_C) --proto_path='$(srcdir)/wire' --c_out=wire '$(srcdir)/wire/$*.proto'
wire/%.pb-c.c: wire/%.pb-c.h
	@test -f $@ && touch $@
BUILT_SOURCES += wire/pathways.pb-c.h wire/peer.pb-c.h
CLEANFILES += wire/pathways.pb-c.c wire/pathways.pb-c.h wire/peer.pb-c.c wire/peer.pb-c.h

wire_tests = wire/frame_test
check_PROGRAMS += $(wire_tests)
TESTS += $(wire_tests)
wire_frame_test_LDADD = wire/libwire.la base/libbase.la $(CMOCKA_LIBS)
