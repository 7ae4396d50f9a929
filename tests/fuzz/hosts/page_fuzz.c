/* What another daemon may say of listings, with anything in it: what is read is written again and read as the same. */
#include "cluster/link/link.h"
#include "daemon/peer/page/page_codec.h"
#include "tests/fuzz/fuzz.h"
#include "wire/pathways.pb-c.h"

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
        struct pw_peer_page said, again;
        struct pw_link_frame *frame, *twice;

        if (pw_peer_page_unpack(bytes, (uint32_t)count, &said, NULL) != PW_OK)
                return 0;
        if (said.answers)
                pathways__wire__listing__free_unpacked(pathways__wire__listing__unpack(NULL, said.rows_bytes, said.rows), NULL);
        frame = pw_peer_page_frame(&said);
        pw_peer_page_done(&said);
        if (!frame)
                return 0;
        must(pw_peer_page_unpack(frame->data, frame->bytes, &again, NULL) == PW_OK);
        twice = pw_peer_page_frame(&again);
        must(!twice || (twice->bytes == frame->bytes && !memcmp(twice->data, frame->data, frame->bytes)));
        pw_peer_page_done(&again);
        pw_link_frame_free(twice);
        pw_link_frame_free(frame);
        return 0;
}
