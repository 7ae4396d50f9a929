/* Functions of a header that kernels of GPUs use too, so that both compute the same bits: PW_ANYWHERE stands before them.
 */
#ifndef PW_BASE_ANYWHERE_H
#define PW_BASE_ANYWHERE_H

#ifdef __CUDACC__
#define PW_ANYWHERE static inline __host__ __device__
#else
#define PW_ANYWHERE static inline
#endif

#endif
