/* Requests as frames, for clients without the library.
 */
#ifndef PW_TESTS_INTEGRATION_FRAME_H
#define PW_TESTS_INTEGRATION_FRAME_H

#include "wire/pathways.pb-c.h"

/* Of `frame`, which is large enough; returns the bytes. */
uint32_t raw_pack(const Pathways__Wire__Request *request, uint8_t *frame);
/* A client's Hello, request 1: less than 256 bytes. */
uint32_t raw_pack_hello(uint8_t *frame);
/* The same of a library that knows the shared memory in another layout. */
uint32_t raw_pack_hello_of(uint32_t layout, uint8_t *frame);

#endif
