/* What daemon/device/nvml_library.h declares is what a nvml.h has: functions, the struct and numbers. It is the compiler that
 * compares. Where configure found none, this is skipped.
 */
#include "daemon/device/nvml_library.h"

#include <stddef.h>
#include <stdio.h>

#ifdef PW_HAVE_NVML_H
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

/* Some are to be replaced by functions that older drivers lack. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
NUMBER(PW_NVML_SUCCESS, NVML_SUCCESS);
NUMBER(PW_NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
NUMBER(PW_NVML_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
NUMBER(PW_NVML_DRIVER_NOT_LOADED, NVML_ERROR_DRIVER_NOT_LOADED);
NUMBER(PW_NVML_UNKNOWN, NVML_ERROR_UNKNOWN);
NUMBER(PW_NVML_SENSOR_GPU, NVML_TEMPERATURE_GPU);
NUMBER(PW_NVML_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED);
NUMBER(PW_NVML_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
NUMBER(PW_NVML_VOLATILE, NVML_VOLATILE_ECC);
NUMBER(PW_NVML_AGGREGATE, NVML_AGGREGATE_ECC);

#define SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
SIZE(enum pw_nvml_result, nvmlReturn_t);
SIZE(enum pw_nvml_sensor, nvmlTemperatureSensors_t);
SIZE(enum pw_nvml_error_type, nvmlMemoryErrorType_t);
SIZE(enum pw_nvml_counter, nvmlEccCounterType_t);
SIZE(struct pw_nvml_memory, nvmlMemory_t);
SIZE(struct pw_nvml_process, nvmlProcessInfo_v2_t);
SIZE(struct nvmlDevice_st *, nvmlDevice_t);
#define FIELD(name) _Static_assert(offsetof(struct pw_nvml_memory, name) == offsetof(nvmlMemory_t, name), #name)
FIELD(total);
FIELD(free);
FIELD(used);
_Static_assert(offsetof(struct pw_nvml_process, used) == offsetof(nvmlProcessInfo_v2_t, usedGpuMemory), "used");

/* In the parameters their types stand for ours. Theirs have no tags, so it takes both words of ours; no header comes after this. */
typedef __typeof__(*(nvmlDevice_t)0) device_of_theirs;
#define enum
#define struct
#define pw_nvml_result nvmlReturn_t
#define pw_nvml_sensor nvmlTemperatureSensors_t
#define pw_nvml_error_type nvmlMemoryErrorType_t
#define pw_nvml_counter nvmlEccCounterType_t
#define pw_nvml_memory nvmlMemory_t
#define pw_nvml_process nvmlProcessInfo_v2_t
#define nvmlDevice_st device_of_theirs
#define FUNCTION(name, type, parameters) _Static_assert(__builtin_types_compatible_p(__typeof__(name), type parameters), #name);
PW_NVML_FUNCTION_MAP(FUNCTION)
PW_NVML_OPTIONAL_MAP(FUNCTION)

int main(void)
{
        printf("nvml.h of API %d\n", NVML_API_VERSION);
        return 0;
}

#else

int main(void)
{
        puts("SKIP: no nvml.h (configure looks in CUDA_HOME)");
        return 77;
}

#endif
