/* What another daemon may say, with anything in it: what is read is written again and read as the same. */
#include "daemon/peer/codec.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int is_so)
{
        if (is_so)
                return;
        fprintf(stderr, "what was read is not what is written\n");
        abort();
}

static enum pw_status pack(const struct pw_peer_said *said, uint8_t **ret_bytes, uint32_t *ret_count)
{
        struct pw_link_frame *frame = NULL;
        enum pw_status status;

        if (said->is_hello)
                return pw_peer_pack_hello(&said->hello, ret_bytes, ret_count);
        if (said->head.number)
                frame = pw_link_frame_new(said->body, said->body_bytes, said->head.work);
        if (said->head.number && !frame)
                return PW_NO_MEMORY;
        if (frame)
                frame->whose = (uint8_t)said->whose;
        status = pw_peer_pack_frame(&said->head, frame, ret_bytes, ret_count);
        pw_link_frame_free(frame);
        return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct pw_peer_said said, again;
        uint8_t *packed, *twice;
        uint32_t packed_count, twice_count;

        if (pw_peer_unpack(bytes, (uint32_t)count, &said, NULL) != PW_OK)
                return 0;
        if (pack(&said, &packed, &packed_count) == PW_OK) {
                must(pw_peer_unpack(packed, packed_count, &again, NULL) == PW_OK);
                if (pack(&again, &twice, &twice_count) == PW_OK) {
                        must(packed_count == twice_count && !memcmp(packed, twice, twice_count));
                        free(twice);
                }
                pw_peer_said_done(&again);
                free(packed);
        }
        pw_peer_said_done(&said);
        return 0;
}
