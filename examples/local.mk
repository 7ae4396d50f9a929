# examples/digits: the module digits.so and the program digits. Neither is installed: users start from the sources.
noinst_LTLIBRARIES += examples/digits/digits.la
examples_digits_digits_la_SOURCES = examples/digits/digits.c examples/digits/digits.h examples/digits/digits_cuda.c \
	examples/digits/digits_cuda.h examples/common/launch.h
examples_digits_digits_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(moduledir)
examples_digits_digits_la_LIBADD = -lm

noinst_PROGRAMS += examples/digits/digits
examples_digits_digits_SOURCES = examples/digits/digits.h examples/digits/model.c examples/digits/model.h \
	examples/digits/options.c examples/digits/options.h examples/digits/train.c $(example_data) $(example_losses)
examples_digits_digits_LDADD = libclient/libpathways.la $(ZLIB_LIBS) -lm

check_PROGRAMS += examples/digits/digits_test
examples_digits_digits_test_SOURCES = examples/digits/digits.c examples/digits/digits_cuda.c examples/digits/digits_test.c examples/digits/model.c
# Objects of its own: those of the module are made by libtool.
examples_digits_digits_test_CFLAGS = $(AM_CFLAGS)
examples_digits_digits_test_LDADD = base/libbase.la $(CMOCKA_LIBS) -lm
dist_check_SCRIPTS += examples/digits/train_test.sh examples/digits/cuda_test.sh
TESTS += examples/digits/digits_test examples/digits/train_test.sh examples/digits/cuda_test.sh

EXTRA_DIST += examples/README.md examples/digits/README.md examples/digits/digits.csv.gz

# examples/common: what several examples need.
example_data = examples/common/arguments.c examples/common/arguments.h examples/common/data.c examples/common/data.h \
	examples/common/failure.h examples/common/progress.c examples/common/progress.h
example_losses = examples/common/losses.c examples/common/losses.h
EXTRA_DIST += examples/common/daemon.sh examples/common/gpus.sh

# examples/cluster
dist_check_SCRIPTS += examples/cluster/apart_test.sh examples/cluster/train_test.sh
TESTS += examples/cluster/apart_test.sh examples/cluster/train_test.sh
EXTRA_DIST += examples/cluster/README.md examples/cluster/certificates.sh examples/cluster/daemonset.yaml examples/cluster/over.sh \
	examples/cluster/train.sh

# examples/kmeans
noinst_LTLIBRARIES += examples/kmeans/kmeans.la
examples_kmeans_kmeans_la_SOURCES = examples/kmeans/kmeans.c
examples_kmeans_kmeans_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(moduledir)
noinst_PROGRAMS += examples/kmeans/kmeans
examples_kmeans_kmeans_SOURCES = examples/kmeans/find.c $(example_data) $(example_losses)
examples_kmeans_kmeans_LDADD = libclient/libpathways.la $(ZLIB_LIBS) -lm
dist_check_SCRIPTS += examples/kmeans/find_test.sh
TESTS += examples/kmeans/find_test.sh
EXTRA_DIST += examples/kmeans/README.md

# examples/tensor
noinst_LTLIBRARIES += examples/tensor/tensor.la
examples_tensor_tensor_la_SOURCES = examples/tensor/tensor.c examples/tensor/tensor.h examples/tensor/tensor_cuda.c \
	examples/tensor/tensor_cuda.h examples/common/launch.h
examples_tensor_tensor_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(moduledir)
examples_tensor_tensor_la_LIBADD = -lm
noinst_PROGRAMS += examples/tensor/tensor
examples_tensor_tensor_SOURCES = examples/tensor/options.c examples/tensor/options.h examples/tensor/train.c $(example_data) $(example_losses)
examples_tensor_tensor_LDADD = libclient/libpathways.la $(ZLIB_LIBS) -lm
dist_check_SCRIPTS += examples/tensor/train_test.sh
TESTS += examples/tensor/train_test.sh
EXTRA_DIST += examples/tensor/README.md

# examples/pipeline
noinst_LTLIBRARIES += examples/pipeline/pipeline.la
examples_pipeline_pipeline_la_SOURCES = examples/pipeline/pipeline.c
examples_pipeline_pipeline_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(moduledir)
noinst_PROGRAMS += examples/pipeline/pipeline
examples_pipeline_pipeline_SOURCES = examples/pipeline/classify.c $(example_data)
examples_pipeline_pipeline_LDADD = libclient/libpathways.la $(ZLIB_LIBS) -lm
dist_check_SCRIPTS += examples/pipeline/classify_test.sh
TESTS += examples/pipeline/classify_test.sh
EXTRA_DIST += examples/pipeline/README.md

# examples/parameter-server: its workers run functions of the module digits.so.
noinst_PROGRAMS += examples/parameter-server/parameter-server
examples_parameter_server_parameter_server_SOURCES = examples/digits/model.c examples/digits/model.h \
	examples/parameter-server/note.h examples/parameter-server/options.c examples/parameter-server/options.h \
	examples/parameter-server/parameter-server.c examples/parameter-server/parts.c examples/parameter-server/parts.h \
	examples/parameter-server/schedule.c examples/parameter-server/schedule.h examples/parameter-server/seat.c \
	examples/parameter-server/seat.h examples/parameter-server/server.c examples/parameter-server/server.h \
	examples/parameter-server/start.c examples/parameter-server/start.h examples/parameter-server/worker.c \
	examples/parameter-server/worker.h $(example_data) $(example_losses)
examples_parameter_server_parameter_server_LDADD = libclient/libpathways.la $(ZLIB_LIBS) -lm
check_PROGRAMS += examples/parameter-server/schedule_test
examples_parameter_server_schedule_test_SOURCES = examples/parameter-server/schedule.c examples/parameter-server/schedule_test.c
examples_parameter_server_schedule_test_LDADD = $(CMOCKA_LIBS)
dist_check_SCRIPTS += examples/parameter-server/train_test.sh
TESTS += examples/parameter-server/schedule_test examples/parameter-server/train_test.sh
EXTRA_DIST += examples/parameter-server/README.md
