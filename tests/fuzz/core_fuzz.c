/* Messages between cores with anything in them: what is decoded is what one would have encoded, byte for byte. */
#include "scheduler/message.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct pw_core_message message;
        struct pw_core_body body;
        struct pw_error err;
        uint8_t *again;
        void *space;

        if (pw_core_decode(bytes, count, &message, &body, &space, &err) != PW_OK)
                return 0;
        again = malloc(count);
        if (again)
                pw_core_encode(&message, &body, again);
        if (pw_core_bytes(&body) != count || (again && memcmp(again, bytes, count))) {
                fprintf(stderr, "a message is not what it was decoded from\n");
                abort();
        }
        free(again);
        free(space);
        return 0;
}
