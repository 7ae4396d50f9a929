# For tests of examples over GPUs, which source it before daemon.sh: the fake driver, with the kernels of the examples. Sets driver.
# Skips where the build has no kernels for it.
# shellcheck shell=sh
gpus=$(mktemp -d)
chmod 755 "$gpus"
driver=$gpus/libcuda.so.1
kernels=
for name in pw digits tensor; do
        library=$PW_BUILD/tests/kernels/lib${name}_fake_kernels.so
        [ -r "$library" ] || { echo "there is no $library: is there a C++ compiler?"; rm -rf "$gpus"; exit 77; }
        kernels=$kernels${kernels:+:}$(readlink -f "$library")
done
ln -s "$(readlink -f "$PW_BUILD/tests/fake_cuda/.libs/libcuda.so.1")" "$driver"
printf 'kernels = %s\ndelay_us = 5\n%s\n' "$kernels" "${fake_conf-}" >"$gpus/fake_cuda.conf"
