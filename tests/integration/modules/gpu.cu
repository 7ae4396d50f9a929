// Kernels of the module gpu, which go wrong on purpose.
#include "libclient/pathways_cuda.h"

// Fails with fault `number`.
extern "C" __global__ void gpu_fault(uint32_t number, uint32_t *fault)
{
        if (pw_thread() == 0)
                pw_fault(fault, number);
}
PW_KERNEL(gpu_fault)

// Writes so many bytes from `to` on.
extern "C" __global__ void gpu_write(uint8_t *to, uint64_t bytes)
{
        for (uint64_t i = pw_thread(); i < bytes; i += pw_thread_count())
                to[i] = 0xee;
}
PW_KERNEL(gpu_write)

// Never ends.
extern "C" __global__ void gpu_hang(volatile uint32_t *word)
{
        while (*word != 0x12345678)
                ;
}
PW_KERNEL(gpu_hang)

// Ends its device.
extern "C" __global__ void gpu_trap(uint32_t number)
{
#ifdef __CUDACC__
        if (number != 0x12345678)
                __trap();
#else
        (void)number;
#endif
}
PW_KERNEL(gpu_trap)

// Copies doubles; on shard 2 the first one says how: 7, it never ends; 8, it fails with fault 1; 9, late.
extern "C" __global__ void gpu_moody(const volatile double *from, double *to, uint64_t count, uint32_t shard, uint32_t *fault)
{
        const double mood = shard == 2 ? from[0] : 0;

        while (mood == 7 && from[0] == 7)
                ;
        for (uint64_t i = 0; mood == 9 && i < 2000000 && from[0] == 9; i++)
                ;
        if (mood == 8 && pw_thread() == 0)
                pw_fault(fault, 1);
        for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())
                to[i] = from[i];
}
PW_KERNEL(gpu_moody)
