# tests
include tests/bench/local.mk
