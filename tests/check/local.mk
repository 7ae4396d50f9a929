# tests/check
