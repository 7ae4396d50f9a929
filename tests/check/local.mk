# What is kept true by machine. Each check can fail on its own; tree.sh is what they share.
checks = tests/check/commands.sh tests/check/direction.sh tests/check/examples.sh tests/check/folders.sh \
	tests/check/headers.sh tests/check/keys.sh   tests/check/manuals.sh tests/check/metrics.sh tests/check/names.sh \
	tests/check/options.sh tests/check/orders.sh   tests/check/readme.sh tests/check/sizes.sh tests/check/statuses.sh \
	tests/check/structs.sh tests/check/symbols.sh   tests/check/synopses.sh
checks += tests/check/limits.sh tests/check/protocol.sh tests/check/clocks.sh tests/check/messages.sh tests/check/outcomes.sh  \
	tests/check/packages.sh tests/check/wall.sh
dist_check_SCRIPTS += $(checks)
TESTS += $(checks)
EXTRA_DIST += tests/README.md tests/check/tree.sh tests/check/lists/libraries.txt \
	tests/check/lists/orders.txt  tests/check/lists/outcomes.txt tests/check/lists/wall.txt  tests/check/README.md
