/* Messages between hosts with anything in them: what is decoded is what one would have encoded, byte for byte. */
#include "cluster/link/link.h"
#include "cluster/borrow/talk.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct pw_talk_message message;
        struct pw_link_frame *again;
        struct pw_error err;

        if (pw_talk_decode(bytes, count, &message, &err) != PW_OK)
                return 0;
        again = pw_talk_encode(&message);
        if (again && (again->bytes != count || memcmp(again->data, bytes, count))) {
                fprintf(stderr, "a message is not what it was decoded from\n");
                abort();
        }
        pw_link_frame_free(again);
        return 0;
}
