# For tests of examples over GPUs, which source it before daemon.sh: the fake driver, with the kernels of the examples. Sets driver.
# Skips where the build has no kernels for it. $PW_CUDA_DRIVER: a driver that is there, which has $PW_CUDA_COUNT GPUs.
# shellcheck shell=sh
gpus=$(mktemp -d)
chmod 755 "$gpus"
driver=$gpus/libcuda.so.1
kernels=
for name in pw digits tensor gpu; do
        [ -z "${PW_CUDA_DRIVER-}" ] || break
        library=$PW_BUILD/tests/kernels/lib${name}_fake_kernels.so
        [ -r "$library" ] || { echo "there is no $library: is there a C++ compiler?"; rm -rf "$gpus"; exit 77; }
        kernels=$kernels${kernels:+:}$(readlink -f "$library")
done
[ -z "${PW_CUDA_DRIVER-}" ] || driver=$PW_CUDA_DRIVER
[ -n "${PW_CUDA_DRIVER-}" ] || ln -s "$(readlink -f "$PW_BUILD/tests/fake_cuda/.libs/libcuda.so.1")" "$driver"
printf 'kernels = %s\ndelay_us = 5\n%s\n' "$kernels" "${fake_conf-}" >"$gpus/fake_cuda.conf"
