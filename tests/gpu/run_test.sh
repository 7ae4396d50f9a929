#!/bin/sh
# What goes to a machine with a GPU, on GPUs that are none: it is packed, unpacked in an empty folder, and run over the fakes, with no
# bars. It says no where a bar does not hold, where a step fails, and where there is no driver.
# shellcheck source=examples/common/gpus.sh
. "${PW_SRC:?}/examples/common/gpus.sh"
# shellcheck source=tests/check/tree.sh
. "$PW_SRC/tests/check/tree.sh"
trap 'rm -rf "$work" "$gpus"' EXIT
grep -q -- -fsanitize= "$PW_BUILD/config.status" && { echo "a pack has no sanitizers in it"; exit 77; }
chmod 755 "$work"
printf 'trap = gpu_trap\n' >>"$gpus/fake_cuda.conf"
ln -s "$(readlink -f "$PW_BUILD/tests/fake_nccl/.libs/libnccl.so.2")" "$gpus/libnccl.so.2"
: >"$gpus/fake_nccl.conf"
chmod 1777 "$gpus"

"$PW_SRC/tests/gpu/pack" "$work/pack.tar.gz" || { bad "pack: exit $?"; finish; }
tar -C "$work" -xf "$work/pack.tar.gz"
ldd "$work/pathways-gpu/executor/pathways-executor" | grep -vE '^.(lib(c|m|dl|pthread)\.so|linux-vdso|/lib64/ld-linux)' | grep -vF "$work/pathways-gpu/" &&
        bad "an executor of the pack has libraries elsewhere"
# run OPTION...: in a folder of its own, nothing of the trees is known there.
run() { (cd / && env -u PW_SRC -u PW_BUILD "$work/pathways-gpu/tests/gpu/run" "$@") >"$work/out" 2>"$work/err"; }

run --driver "$gpus/libcuda.so.1" --nccl "$gpus/libnccl.so.2" --no-bars --small || { bad "run: exit $?"; cat "$work/out" "$work/err"; }
for name in h2d_1g d2h_1g launch_10us launch_nop peer_256m start back_after_trap back_after_hang back_after_kill allreduce_nccl_4 allreduce_nccl_1048576; do
        grep -q "\"name\": \"$name\", \"value\": [0-9].*\"ok\": true" "$work/out" || bad "there is no figure $name"
done
grep -q '"files of compiled code that executors share", "answer": [1-9]' "$work/out" || bad "executors share no compiled code"
grep -q '"step": "all".*"failed": 0' "$work/out" || bad "the last line is: $(tail -n 1 "$work/out")"
grep -E '"(name|step)"' "$work/out"

# One GPU: daemons of eight devices have it eight times.
printf 'devices = 1\n' >>"$gpus/fake_cuda.conf"
LD_LIBRARY_PATH=$gpus run --no-bars --small --only parts || { bad "with one GPU: exit $?"; cat "$work/out" "$work/err"; }
run --driver "$gpus/libcuda.so.1" --nccl "$gpus/libnccl.so.2" --small --only sums || { bad "with one GPU: exit $?"; cat "$work/out" "$work/err"; }
run --driver "$gpus/libcuda.so.1" --nccl "$gpus/libnccl.so.2" --small --only reduces ||
        { bad "with one GPU: exit $?"; cat "$work/out" "$work/err"; }
for line in '"NCCL registers an arena", "answer": "it does"' '"seconds until a communicator is made", "answer": [0-9]' \
        '"seconds until a communicator is aborted", "answer": [0-9]' '"allreduce_nccl_on_one_gpu_1048576", "value": [0-9]'; do
        grep -q "$line" "$work/out" || bad "of one GPU there is no $line: $(cat "$work/out")"
done
"$PW_BUILD/tests/gpu/reduces" --driver "$gpus/libcuda.so.1" --nccl /nowhere/libnccl.so.2 >"$work/out" || bad "without NCCL: exit $?"
grep -q '"name": "allreduce_nccl", "skipped": ".*libnccl' "$work/out" || bad "without NCCL it says: $(cat "$work/out")"

run --driver "$gpus/libcuda.so.1" --seconds 1 --small --no-bars && bad "a run that has no time is good"
grep -q '"step": "questions".*"ok": false, "why": "not over after 0 s"' "$work/out" || bad "without time it says: $(cat "$work/out")"
run --driver /nowhere/libcuda.so.1 && bad "a run without a driver is good"
grep -q 'no CUDA driver: /nowhere/libcuda.so.1' "$work/err" || bad "without a driver it says: $(cat "$work/err")"
run --driver "$gpus/libcuda.so.1" --small --only figures --no-bar-holds && bad "a bar that does not hold is good"
grep -q '"name": "launch_nop".*"bar": 1.5.*"ok": false' "$work/out" || bad "bars say: $(grep '"name"' "$work/out")"
printf '#!/bin/sh\nexit 3\n' >"$work/pathways-gpu/tests/gpu/starts"
run --driver "$gpus/libcuda.so.1" --no-bars --small --only starts && bad "a step that fails is good"
grep -q '"step": "starts".*"ok": false, "why": "exit status 3"' "$work/out" || bad "of a step that fails it says: $(cat "$work/out")"
finish
