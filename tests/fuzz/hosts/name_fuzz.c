/* What another daemon may say of names, with anything in it: what is read is written again and read as the same. */
#include "cluster/link/link.h"
#include "daemon/peer/name/name_codec.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct pw_peer_name said, again;
        struct pw_link_frame *frame, *twice;

        if (pw_peer_name_unpack(bytes, (uint32_t)count, &said, NULL) != PW_OK)
                return 0;
        frame = pw_peer_name_frame(&said);
        pw_peer_name_done(&said);
        if (!frame)
                return 0;
        must(pw_peer_name_unpack(frame->data, frame->bytes, &again, NULL) == PW_OK);
        twice = pw_peer_name_frame(&again);
        must(!twice || (twice->bytes == frame->bytes && !memcmp(twice->data, frame->data, frame->bytes)));
        pw_peer_name_done(&again);
        pw_link_frame_free(twice);
        pw_link_frame_free(frame);
        return 0;
}
