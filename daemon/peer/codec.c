/* What daemons say to each other, by protobuf. */
#include "daemon/peer/codec.h"

#include "wire/peer.pb-c.h"

#include <stdlib.h>
#include <string.h>

/* --- in --------------------------------------------------------------------------------------------------------------------- */

static bool is_address(const char *text)
{
        return strlen(text) <= PW_HOST_ADDRESS_MAX && text[strcspn(text, " \t\r\n\f\v")] == 0;
}

static enum pw_status read_hello(const Pathways__Wire__PeerHello *hello, struct pw_hello *ret_hello, struct pw_error *ret_err)
{
        if (!pw_host_name_ok(hello->name) || !pw_host_name_ok(hello->cluster))
                return pw_error_set(ret_err, PW_PROTOCOL, "a host's hello has a name that is none: up to %u letters, digits and "
                                    "\"-._\"", PW_HOST_NAME_MAX);
        if (!is_address(hello->address))
                return pw_error_set(ret_err, PW_PROTOCOL, "a host's hello has an address that is none: up to %u characters, and no "
                                    "blanks", PW_HOST_ADDRESS_MAX);
        *ret_hello = (struct pw_hello){
                .version = hello->version, .incarnation = hello->incarnation, .cluster = hello->cluster, .name = hello->name,
                .address = hello->address, .host = hello->host, .met = hello->met,
                .peer = { hello->epoch, hello->instance, { hello->term, hello->received, hello->met_epoch } } };
        return PW_OK;
}

static enum pw_status read_frame(const Pathways__Wire__PeerFrame *frame, struct pw_peer_said *said, struct pw_error *ret_err)
{
        if (!frame->number != !frame->body.len || (frame->work && !frame->number))
                return pw_error_set(ret_err, PW_PROTOCOL, "a host's frame %lu has %zu bytes", (unsigned long)frame->number,
                                    frame->body.len);
        if (frame->number ? frame->whose < PW_PEER_BODY_CORE || frame->whose > PW_PEER_BODY_LAST : frame->whose != 0)
                return pw_error_set(ret_err, PW_PROTOCOL, "a host's frame %lu is for %u: there is nobody of that number",
                                    (unsigned long)frame->number, frame->whose);
        said->whose = (enum pw_peer_body)frame->whose;
        said->head = (struct pw_link_head){ frame->number, frame->received, frame->granted, frame->work,
                                             { frame->said_us, frame->heard_us, frame->came_us }, frame->held_us };
        said->body = frame->body.data;
        said->body_bytes = (uint32_t)frame->body.len;
        return PW_OK;
}

enum pw_status pw_peer_unpack(const uint8_t *bytes, uint32_t count, struct pw_peer_said *ret_said, struct pw_error *ret_err)
{
        Pathways__Wire__PeerSaid *message = pathways__wire__peer_said__unpack(NULL, count, bytes);
        struct pw_peer_said said = { .own = message };
        enum pw_status status = PW_PROTOCOL;

        if (message && message->said_case == PATHWAYS__WIRE__PEER_SAID__SAID_HELLO) {
                said.is_hello = true;
                status = read_hello(message->hello, &said.hello, ret_err);
        } else if (message && message->said_case == PATHWAYS__WIRE__PEER_SAID__SAID_FRAME) {
                status = read_frame(message->frame, &said, ret_err);
        } else {
                status = pw_error_set(ret_err, PW_PROTOCOL, "%u bytes that no pathwaysd says", count);
        }
        if (status == PW_OK)
                *ret_said = said;
        else
                pw_peer_said_done(&said);
        return status;
}

void pw_peer_said_done(struct pw_peer_said *said)
{
        if (said->own)
                pathways__wire__peer_said__free_unpacked(said->own, NULL);
        said->own = NULL;
}

/* --- out -------------------------------------------------------------------------------------------------------------------- */

static enum pw_status pack(const Pathways__Wire__PeerSaid *message, uint8_t **ret_bytes, uint32_t *ret_count)
{
        size_t count = pathways__wire__peer_said__get_packed_size(message);
        uint8_t *bytes = malloc(count);

        if (!bytes)
                return PW_NO_MEMORY;
        *ret_count = (uint32_t)pathways__wire__peer_said__pack(message, bytes);
        *ret_bytes = bytes;
        return PW_OK;
}

enum pw_status pw_peer_pack_hello(const struct pw_hello *hello, uint8_t **ret_bytes, uint32_t *ret_count)
{
        Pathways__Wire__PeerHello out = PATHWAYS__WIRE__PEER_HELLO__INIT;
        Pathways__Wire__PeerSaid message = PATHWAYS__WIRE__PEER_SAID__INIT;

        out.version = hello->version;
        out.cluster = (char *)(uintptr_t)hello->cluster;
        out.incarnation = hello->incarnation;
        out.name = (char *)(uintptr_t)hello->name;
        if (hello->address)
                out.address = (char *)(uintptr_t)hello->address;
        out.host = hello->host;
        out.epoch = hello->peer.epoch;
        out.instance = hello->peer.instance;
        out.met = hello->met;
        out.term = hello->peer.stand.term;
        out.received = hello->peer.stand.received;
        out.met_epoch = hello->peer.stand.met;
        message.said_case = PATHWAYS__WIRE__PEER_SAID__SAID_HELLO;
        message.hello = &out;
        return pack(&message, ret_bytes, ret_count);
}

enum pw_status pw_peer_pack_frame(const struct pw_link_head *head, const struct pw_link_frame *frame, uint8_t **ret_bytes,
                                  uint32_t *ret_count)
{
        Pathways__Wire__PeerFrame out = PATHWAYS__WIRE__PEER_FRAME__INIT;
        Pathways__Wire__PeerSaid message = PATHWAYS__WIRE__PEER_SAID__INIT;

        out.number = head->number;
        out.received = head->received;
        out.granted = head->granted;
        out.work = head->work;
        out.held_us = head->held_us;
        out.said_us = head->stamps.said_us;
        out.heard_us = head->stamps.heard_us;
        out.came_us = head->stamps.came_us;
        if (frame) {
                out.body.len = frame->bytes;
                out.body.data = (uint8_t *)(uintptr_t)frame->data;
                out.whose = frame->whose;
        }
        message.said_case = PATHWAYS__WIRE__PEER_SAID__SAID_FRAME;
        message.frame = &out;
        return pack(&message, ret_bytes, ret_count);
}
