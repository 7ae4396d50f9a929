# examples/digits: the module digits.so and the program digits. Neither is installed: users start from the sources.
noinst_LTLIBRARIES += examples/digits/digits.la
examples_digits_digits_la_SOURCES = examples/digits/digits.c examples/digits/digits.h
examples_digits_digits_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(moduledir)
examples_digits_digits_la_LIBADD = -lm

noinst_PROGRAMS += examples/digits/digits
examples_digits_digits_SOURCES = examples/digits/data.c examples/digits/data.h examples/digits/digits.h examples/digits/model.c \
	examples/digits/model.h examples/digits/options.c examples/digits/options.h examples/digits/progress.c \
	examples/digits/progress.h examples/digits/train.c
examples_digits_digits_LDADD = libclient/libpathways.la $(ZLIB_LIBS) -lm

check_PROGRAMS += examples/digits/digits_test
examples_digits_digits_test_SOURCES = examples/digits/digits.c examples/digits/digits_test.c examples/digits/model.c
# Objects of its own: those of the module are made by libtool.
examples_digits_digits_test_CFLAGS = $(AM_CFLAGS)
examples_digits_digits_test_LDADD = base/libbase.la $(CMOCKA_LIBS) -lm
dist_check_SCRIPTS += examples/digits/train_test.sh
TESTS += examples/digits/digits_test examples/digits/train_test.sh

EXTRA_DIST += examples/README.md examples/digits/README.md examples/digits/digits.csv.gz
