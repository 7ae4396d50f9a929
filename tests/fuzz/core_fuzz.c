/* Messages between cores with anything in them: what is decoded is what one would have encoded, byte for byte. */
#include "scheduler/message.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        uint8_t again[PW_CORE_BYTES_MAX];
        struct pw_core_message message;
        struct pw_error text, err;

        if (pw_core_decode(bytes, count, &message, &text, &err) != PW_OK)
                return 0;
        if (pw_core_encode(&message, text.text, again) != count || memcmp(again, bytes, count)) {
                fprintf(stderr, "a message is not what it was decoded from\n");
                abort();
        }
        return 0;
}
