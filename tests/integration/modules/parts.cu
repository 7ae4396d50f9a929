// Kernels of the module parts.
#include "libclient/pathways_cuda.h"

extern "C" __global__ void parts_add(double *out, const double *in, uint64_t count, double add)
{
        for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())
                out[i] = in[i] + add;
}
PW_KERNEL(parts_add)

// The sum in the order of the elements, by one thread.
extern "C" __global__ void parts_stats(double *twice, double *sum, int64_t *elements, const double *in, uint64_t count)
{
        double all = 0;

        for (uint64_t i = pw_thread(); i < count; i += pw_thread_count())
                twice[i] = 2 * in[i];
        if (pw_thread())
                return;
        for (uint64_t i = 0; i < count; i++)
                all += in[i];
        *sum = all;
        *elements = (int64_t)count;
}
PW_KERNEL(parts_stats)
