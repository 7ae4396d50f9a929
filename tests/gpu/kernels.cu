// Kernels of the programs that measure GPUs.
#include "libclient/pathways_cuda.h"

extern "C" __global__ void measure_nop(uint32_t *word) { (void)word; }
PW_KERNEL(measure_nop)

// Takes so long.
extern "C" __global__ void measure_spin(uint64_t ns)
{
        uint64_t until = pw_nanoseconds() + ns;

        while (pw_nanoseconds() < until)
                ;
}
PW_KERNEL(measure_spin)

// Never ends.
extern "C" __global__ void measure_hang(volatile uint32_t *word)
{
        while (*word != 0x12345678)
                ;
}
PW_KERNEL(measure_hang)
