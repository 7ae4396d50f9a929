/* Of names, by protobuf. */
#include "daemon/peer/name/name_codec.h"

#include "cluster/link/link.h"
#include "store/name.h"
#include "wire/peer.pb-c.h"

#include <stdlib.h>
#include <string.h>

#define TENANT_MAX 255u

/* --- out -------------------------------------------------------------------------------------------------------------------- */

static void write_question(const struct pw_peer_name *message, Pathways__Wire__PeerName *out)
{
        out->tenant = (char *)(uintptr_t)message->tenant;
        out->name = (char *)(uintptr_t)message->name;
        if (message->kind == PW_PEER_NAME_REMOVE)
                return;
        out->place = message->id.place;
        out->epoch = message->id.epoch;
        out->generation = message->id.generation;
        out->ttl_us = message->ttl_us;
}

struct pw_link_frame *pw_peer_name_frame(const struct pw_peer_name *message)
{
        Pathways__Wire__PeerName out = PATHWAYS__WIRE__PEER_NAME__INIT;
        struct pw_link_frame *frame = NULL;
        uint8_t *bytes;
        size_t count;

        out.kind = message->kind;
        out.number = message->number;
        if (pw_peer_name_is_question(message->kind))
                write_question(message, &out);
        if (message->kind == PW_PEER_NAME_ANSWER) {
                out.status = message->status;
                out.text = (char *)(uintptr_t)message->text;
        }
        count = pathways__wire__peer_name__get_packed_size(&out);
        bytes = malloc(count);
        if (bytes) {
                pathways__wire__peer_name__pack(&out, bytes);
                frame = pw_link_frame_new(bytes, (uint32_t)count, pw_peer_name_is_question(message->kind));
        }
        free(bytes);
        return frame;
}

/* --- in --------------------------------------------------------------------------------------------------------------------- */

static enum pw_status read_question(const Pathways__Wire__PeerName *in, struct pw_peer_name *ret_message, struct pw_error *ret_err)
{
        struct pw_error why;

        if (!in->tenant[0] || strlen(in->tenant) > TENANT_MAX || in->ttl_us < 0)
                return pw_error_set(ret_err, PW_PROTOCOL, "a host asks about a name of no tenant, or for less than no time");
        if (in->kind == PW_PEER_NAME_TAKE && !in->name[0] && !in->ttl_us)
                return pw_error_set(ret_err, PW_PROTOCOL, "a host hands on a lease for ever");
        if ((in->kind != PW_PEER_NAME_TAKE || in->name[0]) && pw_store_name_check(in->name, &why) != PW_OK)
                return pw_error_set(ret_err, PW_PROTOCOL, "a host asks about a name that is none: %s", why.text);
        ret_message->tenant = in->tenant;
        ret_message->name = in->name;
        ret_message->id = (struct pw_id){ in->place, in->epoch, in->generation };
        ret_message->ttl_us = in->ttl_us;
        return PW_OK;
}

static enum pw_status read_answer(const Pathways__Wire__PeerName *in, struct pw_peer_name *ret_message, struct pw_error *ret_err)
{
        if (!pw_status_known(in->status))
                return pw_error_set(ret_err, PW_PROTOCOL, "a host answers with status %u: there is no such", in->status);
        ret_message->status = (enum pw_status)in->status;
        ret_message->text = in->text;
        return PW_OK;
}

static enum pw_status read_any(const Pathways__Wire__PeerName *in, struct pw_peer_name *ret_message, struct pw_error *ret_err)
{
        ret_message->kind = (enum pw_peer_name_kind)in->kind;
        ret_message->number = in->number;
        switch (in->kind) {
        case PW_PEER_NAME_WAITS:
        case PW_PEER_NAME_BOUND: return PW_OK;
        case PW_PEER_NAME_ANSWER: if (in->number) return read_answer(in, ret_message, ret_err); break;
        case PW_PEER_NAME_BIND:
        case PW_PEER_NAME_TAKE:
        case PW_PEER_NAME_REMOVE: if (in->number) return read_question(in, ret_message, ret_err); break;
        }
        return pw_error_set(ret_err, PW_PROTOCOL, "a host says %u of names, number %lu: that is nothing", in->kind,
                            (unsigned long)in->number);
}

enum pw_status pw_peer_name_unpack(const uint8_t *bytes, uint32_t count, struct pw_peer_name *ret_message,
                                   struct pw_error *ret_err)
{
        Pathways__Wire__PeerName *in = pathways__wire__peer_name__unpack(NULL, count, bytes);
        struct pw_peer_name message = { .own = in };
        enum pw_status status = in ? read_any(in, &message, ret_err)
                                   : pw_error_set(ret_err, PW_PROTOCOL, "%u bytes that no pathwaysd says of names", count);

        if (status == PW_OK)
                *ret_message = message;
        else
                pw_peer_name_done(&message);
        return status;
}

void pw_peer_name_done(struct pw_peer_name *message)
{
        if (message->own)
                pathways__wire__peer_name__free_unpacked(message->own, NULL);
        message->own = NULL;
}
