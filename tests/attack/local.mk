# What one tenant's programs try on a daemon, its executors and other tenants; a program for each attack. together_test has all of them
# attack one daemon at once.
attack_tests =
attack_sources = tests/attack/attack.c tests/attack/attack.h tests/attack/bystander.c tests/attack/bystander.h $(integration_sources)
attack_libraries = $(integration_libraries)

# Sorted by name.
attack_tests += tests/attack/boards_test
tests_attack_boards_test_SOURCES = tests/attack/boards_test.c $(attack_sources)
tests_attack_boards_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/doorbell_test
tests_attack_doorbell_test_SOURCES = tests/attack/doorbell_test.c $(attack_sources)
tests_attack_doorbell_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/escapes_test
tests_attack_escapes_test_SOURCES = tests/attack/escapes_test.c tests/integration/command.c tests/integration/command.h $(attack_sources)
tests_attack_escapes_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/forged_test
tests_attack_forged_test_SOURCES = tests/attack/forged_test.c $(attack_sources)
tests_attack_forged_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/freed_get_test
tests_attack_freed_get_test_SOURCES = tests/attack/freed_get_test.c $(attack_sources)
tests_attack_freed_get_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/greedy_test
tests_attack_greedy_test_SOURCES = tests/attack/greedy_test.c $(attack_sources)
tests_attack_greedy_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/half_http_test
tests_attack_half_http_test_SOURCES = tests/attack/half_http_test.c $(attack_sources)
tests_attack_half_http_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/holders_test
tests_attack_holders_test_SOURCES = tests/attack/holders_test.c $(attack_sources)
tests_attack_holders_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/many_slots_test
tests_attack_many_slots_test_SOURCES = tests/attack/many_slots_test.c $(attack_sources)
tests_attack_many_slots_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/module_files_test
tests_attack_module_files_test_SOURCES = tests/attack/module_files_test.c $(attack_sources)
tests_attack_module_files_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/operator_view_test
tests_attack_operator_view_test_SOURCES = tests/attack/operator_view_test.c $(attack_sources)
tests_attack_operator_view_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/room_queue_test
tests_attack_room_queue_test_SOURCES = tests/attack/room_queue_test.c $(attack_sources)
tests_attack_room_queue_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/traces_test
tests_attack_traces_test_SOURCES = tests/attack/traces_test.c $(attack_sources)
tests_attack_traces_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/unread_test
tests_attack_unread_test_SOURCES = tests/attack/unread_test.c $(attack_sources)
tests_attack_unread_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/why_loop_test
tests_attack_why_loop_test_SOURCES = tests/attack/why_loop_test.c $(attack_sources)
tests_attack_why_loop_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/module_files_test
tests_attack_module_files_test_SOURCES = tests/attack/module_files_test.c $(attack_sources)
tests_attack_module_files_test_LDADD = $(attack_libraries)

attack_tests += tests/attack/collision_test
tests_attack_collision_test_SOURCES = tests/attack/collision_test.c $(attack_sources)
tests_attack_collision_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/compile_flood_test
tests_attack_compile_flood_test_SOURCES = tests/attack/compile_flood_test.c $(attack_sources)
tests_attack_compile_flood_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/compile_large_test
tests_attack_compile_large_test_SOURCES = tests/attack/compile_large_test.c $(attack_sources)
tests_attack_compile_large_test_LDADD = $(attack_libraries)
attack_tests += tests/attack/slice_race_test
tests_attack_slice_race_test_SOURCES = tests/attack/slice_race_test.c $(attack_sources)
tests_attack_slice_race_test_LDADD = $(attack_libraries)

check_PROGRAMS += $(attack_tests) tests/attack/together_test
TESTS += $(attack_tests) tests/attack/together_test
tests_attack_together_test_SOURCES = tests/attack/together_test.c $(attack_sources)
tests_attack_together_test_LDADD = $(attack_libraries)
tests_attack_together_test_CPPFLAGS = $(AM_CPPFLAGS) -DATTACKS='"$(attack_tests)"'
EXTRA_DIST += tests/attack/README.md
