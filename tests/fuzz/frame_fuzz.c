/* What comes over a socket: frames in pieces of any size, and each message in them. */
#include "tests/fuzz/fuzz.h"
#include "wire/frame.h"
#include "wire/pathways.pb-c.h"

static void unpack(const struct pw_frame *frame)
{
        if (frame->kind == PW_FRAME_REQUEST)
                pathways__wire__request__free_unpacked(pathways__wire__request__unpack(NULL, frame->bytes, frame->payload), NULL);
        if (frame->kind == PW_FRAME_REPLY)
                pathways__wire__reply__free_unpacked(pathways__wire__reply__unpack(NULL, frame->bytes, frame->payload), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct pw_decoder decoder;
        struct pw_frame frame;
        size_t piece = count ? 1 + bytes[0] % 64u : 1;
        enum pw_status status = PW_NOT_READY;

        pw_decoder_init(&decoder);
        for (size_t i = 1; i < count && status == PW_NOT_READY; i += piece) {
                if (pw_decoder_feed(&decoder, bytes + i, count - i < piece ? count - i : piece, NULL) != PW_OK)
                        break;
                while ((status = pw_frame_next(&decoder, &frame, NULL)) == PW_OK)
                        unpack(&frame);
        }
        pw_decoder_done(&decoder);
        return 0;
}
