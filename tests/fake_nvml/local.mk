# NVML without hardware. It is really called as the real one: tests/fake_nvml/.libs/libnvidia-ml.so.1; a test gives a daemon a folder
# with a link to it, and a fake_nvml.conf.
check_LTLIBRARIES += tests/fake_nvml/libnvidia-ml.la
tests_fake_nvml_libnvidia_ml_la_SOURCES = tests/fake_nvml/fake_nvml.c
tests_fake_nvml_libnvidia_ml_la_LDFLAGS = $(AM_LDFLAGS) -shared -avoid-version -shrext .so.1 -rpath $(abs_builddir) \
	-export-symbols-regex '^nvml[A-Z]'
tests_fake_nvml_libnvidia_ml_la_LIBADD = -ldl
EXTRA_DIST += tests/fake_nvml/README.md
