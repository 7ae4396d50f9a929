/* The kernels of these tests, as both sides see them.
 */
#ifndef PW_TESTS_FAKE_CUDA_KERNELS_H
#define PW_TESTS_FAKE_CUDA_KERNELS_H

#include <stdint.h>

struct pair { uint32_t x, y; };

#define KERNELS_HEAD "//\n// By hand\n//\n.version 8.0\n.target sm_80\n.address_size 64\n"
#define KERNELS_PTX                                                                                                    \
        KERNELS_HEAD                                                                                                   \
        ".visible .entry scale(\n\t.param .u64 scale_to,\n\t.param .u64 .ptr .global .align 4 scale_from,\n"            \
        "\t.param .u32 scale_count, /* of both, and */\n\t.param .align 4 .b8 scale_factor[8]\n)\n{\n\tret;\n}\n"        \
        ".visible .entry gate(.param .u64 gate_word)\n.maxntid 1, 1, 1\n{ ret; }\n"                                    \
        ".visible .entry forever()\n{ ret; }\n.visible .entry wrong\n{ ret; }\n"

void *fake_cuda_at(unsigned long long address);
void scale__fake(void *const *args, const unsigned grid[3], const unsigned block[3]);
void gate__fake(void *const *args, const unsigned grid[3], const unsigned block[3]);

#endif
