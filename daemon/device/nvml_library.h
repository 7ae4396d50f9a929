/* The part of NVML that the daemon uses, declared here: so it builds without NVIDIA's headers, and the library is looked for where
 * GPUs were asked for. tests/gpu/nvml_header_test.c holds this file against a nvml.h.
 *
 * Names are those of NVML's manual, which says what each function does; only those of types and numbers begin with pw_nvml. A call
 * may take tens of milliseconds, and none comes back from a driver that hangs: they are made by a thread of their own (gpus.c).
 */
#ifndef PW_DAEMON_NVML_LIBRARY_H
#define PW_DAEMON_NVML_LIBRARY_H

#include "base/error.h"

#define PW_NVML_LIBRARY "libnvidia-ml.so.1"

/* Others exist: nvmlErrorString() has words for them. */
enum pw_nvml_result { PW_NVML_SUCCESS = 0, PW_NVML_NOT_SUPPORTED = 3, PW_NVML_INSUFFICIENT_SIZE = 7,
                      PW_NVML_DRIVER_NOT_LOADED = 9, PW_NVML_UNKNOWN = 999 };
enum pw_nvml_sensor { PW_NVML_SENSOR_GPU = 0 };
enum pw_nvml_error_type { PW_NVML_CORRECTED = 0, PW_NVML_UNCORRECTED = 1 };
enum pw_nvml_counter { PW_NVML_VOLATILE = 0, PW_NVML_AGGREGATE = 1 }; /* since the driver was loaded or the GPU reset; ever */

struct pw_nvml_memory { unsigned long long total, free, used; }; /* bytes */
/* A process that computes on a GPU, by its number for the system, or in one of its instances (MIG). */
struct pw_nvml_process { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; };
#define PW_NVML_NOT_AVAILABLE (~0ull) /* of `used`: the driver does not know */

/* NVML's own tag. */
struct nvmlDevice_st;

/* X(name, type of what it returns, parameters) */
#define PW_NVML_FUNCTION_MAP(X)                                                                                        \
        X(nvmlInit_v2, enum pw_nvml_result, (void))                                                                    \
        X(nvmlShutdown, enum pw_nvml_result, (void))                                                                   \
        X(nvmlErrorString, const char *, (enum pw_nvml_result result))                                                 \
        X(nvmlDeviceGetHandleByIndex_v2, enum pw_nvml_result, (unsigned index, struct nvmlDevice_st **device))         \
        X(nvmlDeviceGetMemoryInfo, enum pw_nvml_result, (struct nvmlDevice_st *device, struct pw_nvml_memory *memory)) \
        X(nvmlDeviceGetPowerUsage, enum pw_nvml_result, (struct nvmlDevice_st *device, unsigned *milliwatts))          \
        X(nvmlDeviceGetTemperature, enum pw_nvml_result,                                                               \
          (struct nvmlDevice_st *device, enum pw_nvml_sensor sensor, unsigned *celsius))                               \
        X(nvmlDeviceGetTotalEccErrors, enum pw_nvml_result,                                                            \
          (struct nvmlDevice_st *device, enum pw_nvml_error_type type, enum pw_nvml_counter counter,                   \
           unsigned long long *count))
/* Those that may not be there: NULL then. Of the third version of this one some drivers (535.43 to 535.86) have another struct. */
#define PW_NVML_OPTIONAL_MAP(X)                                                                                        \
        X(nvmlDeviceGetComputeRunningProcesses_v2, enum pw_nvml_result,                                                \
          (struct nvmlDevice_st *device, unsigned *count, struct pw_nvml_process *all))

struct pw_nvml_library {
        void *library;
#define PW_NVML_FUNCTION_FIELD(name, type, parameters) type(*name) parameters;
        PW_NVML_FUNCTION_MAP(PW_NVML_FUNCTION_FIELD)
        PW_NVML_OPTIONAL_MAP(PW_NVML_FUNCTION_FIELD)
#undef PW_NVML_FUNCTION_FIELD
};

/* Load NVML and begin with it: `name` is a path or a name, NULL or "" means PW_NVML_LIBRARY.
 * Own:    *ret_library is given back with close().
 * Errors: PW_NOT_FOUND (not installed), PW_UNSUPPORTED (it lacks a symbol), PW_SYSTEM (the driver), PW_NO_MEMORY.
 * Blocks: for as long as the driver takes. */
PW_MUST_CHECK enum pw_status pw_nvml_library_open(const char *name, struct pw_nvml_library **ret_library, struct pw_error *ret_err);
/* Blocks: as open(). The library itself stays in the process. Accepts NULL. */
void pw_nvml_library_close(struct pw_nvml_library *library);

#endif
