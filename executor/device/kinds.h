/* The kinds, each in a file of its name; only kinds.c reads this. */
#ifndef PW_EXECUTOR_DEVICE_KINDS_H
#define PW_EXECUTOR_DEVICE_KINDS_H

#include "executor/device/device.h"

extern const struct pw_device_kind pw_device_cpu;
extern const struct pw_device_kind pw_device_emulated;
extern const struct pw_device_kind pw_device_cuda;

#endif
