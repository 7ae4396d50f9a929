# tests
include tests/bench/local.mk
include tests/integration/local.mk
