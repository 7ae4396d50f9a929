/* The fake driver of this process, found as NCCL finds a real one: by the name of its library, which is loaded already. */
#include "tests/fake_nccl/fake.h"

#include <dlfcn.h>

static struct fake_driver driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void driver_find(void)
{
        void *library = dlopen(PW_CUDA_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
        void *found;

        /* The name is the one in the library, whatever path it was loaded by. Where there is none, the program may be linked with
         * it. */
#define FIND(name, type, parameters)                                                                                   \
        found = dlsym(library ? library : RTLD_DEFAULT, #name);                                                        \
        if (!found)                                                                                                    \
                fake_abort("no %s: load the %s of tests/fake_cuda first", #name, PW_CUDA_LIBRARY);                     \
        memcpy(&driver.name, &found, sizeof found);
        FAKE_ENQUEUE_MAP(FIND)
#undef FIND
}

const struct fake_driver *fake_driver(void)
{
        pthread_once(&once, driver_find);
        return &driver;
}
