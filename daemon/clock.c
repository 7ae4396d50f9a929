/* The time of the loop. */
#include "daemon/daemon.h"

#include "plane/hint.h"

uint64_t pw_now_us(void)
{
        return (uint64_t)pw_now_ns() / 1000;
}
