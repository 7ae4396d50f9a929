/* Frames of requests. */
#include "tests/integration/frame.h"

#include "wire/frame.h"

uint32_t raw_pack(const Pathways__Wire__Request *request, uint8_t *frame)
{
        uint32_t bytes = (uint32_t)pathways__wire__request__pack(request, frame + PW_FRAME_HEADER);

        pw_frame_header(frame, PW_FRAME_REQUEST, bytes, 0);
        return PW_FRAME_HEADER + bytes;
}

uint32_t raw_pack_hello(uint8_t *frame) { return raw_pack_hello_of(PW_LAYOUT_VERSION, frame); }

uint32_t raw_pack_hello_of(uint32_t layout, uint8_t *frame)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Hello hello = PATHWAYS__WIRE__HELLO__INIT;

        hello.version = PW_WIRE_VERSION;
        hello.layout = layout;
        hello.role = (char *)(uintptr_t)"client";
        request.id = 1;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_HELLO;
        request.hello = &hello;
        return raw_pack(&request, frame);
}
