/* What hosts say about pulls, and what goes before a chunk, with anything in it: what is decoded is what one would have encoded,
 * byte for byte. */
#include "cluster/link/link.h"
#include "cluster/pull/pull_message.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "%s\n", what);
        abort();
}

static void try_head(const uint8_t *bytes)
{
        uint8_t again[PW_PULL_HEAD_BYTES];
        struct pw_pull_head head;

        if (pw_pull_head_decode(bytes, &head, NULL) != PW_OK)
                return;
        must(head.ask && head.bytes && head.bytes <= PW_PULL_CHUNK_BYTES, "a head that cannot be");
        pw_pull_head_encode(&head, again);
        must(!memcmp(bytes, again, sizeof again), "a head is not what it was decoded from");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct pw_pull_message message;
        struct pw_link_frame *again;
        struct pw_error err;

        if (count >= PW_PULL_HEAD_BYTES)
                try_head(bytes);
        if (pw_pull_decode(bytes, count, &message, &err) != PW_OK)
                return 0;
        must(pw_pull_is_message(bytes, count), "a message that is not taken for one");
        again = pw_pull_encode(&message);
        must(!again || (again->bytes == count && !memcmp(again->data, bytes, count)), "a message is not what it was decoded from");
        pw_link_frame_free(again);
        return 0;
}
