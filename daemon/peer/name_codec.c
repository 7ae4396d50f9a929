/* Of names, by protobuf. */
#include "daemon/peer/name_codec.h"

#include "cluster/link/link.h"
#include "store/name.h"
#include "wire/peer.pb-c.h"

#include <stdlib.h>
#include <string.h>

#define TENANT_MAX 255u

/* --- out -------------------------------------------------------------------------------------------------------------------- */

struct pw_link_frame *pw_peer_name_frame(const struct pw_peer_name *message)
{
        Pathways__Wire__PeerName out = PATHWAYS__WIRE__PEER_NAME__INIT;
        bool answers = message->kind == PW_PEER_NAME_ANSWER;
        struct pw_link_frame *frame = NULL;
        uint8_t *bytes;
        size_t count;

        out.number = message->number;
        out.answers = answers;
        out.removes = message->kind == PW_PEER_NAME_REMOVE;
        if (!answers) {
                out.tenant = (char *)(uintptr_t)message->tenant;
                out.name = (char *)(uintptr_t)message->name;
        }
        if (message->kind == PW_PEER_NAME_BIND) {
                out.place = message->id.place;
                out.epoch = message->id.epoch;
                out.generation = message->id.generation;
                out.ttl_us = message->ttl_us;
        }
        if (answers) {
                out.status = message->status;
                out.text = (char *)(uintptr_t)message->text;
        }
        count = pathways__wire__peer_name__get_packed_size(&out);
        bytes = malloc(count);
        if (bytes) {
                pathways__wire__peer_name__pack(&out, bytes);
                frame = pw_link_frame_new(bytes, (uint32_t)count, !answers);
        }
        free(bytes);
        return frame;
}

/* --- in --------------------------------------------------------------------------------------------------------------------- */

static enum pw_status read_question(const Pathways__Wire__PeerName *in, struct pw_peer_name *ret_message, struct pw_error *ret_err)
{
        if (!in->tenant[0] || strlen(in->tenant) > TENANT_MAX || in->ttl_us < 0)
                return pw_error_set(ret_err, PW_PROTOCOL, "a host asks about a name of no tenant, or for less than no time");
        if (pw_store_name_check(in->name, ret_err) != PW_OK) {
                ret_err->status = PW_PROTOCOL;
                return PW_PROTOCOL;
        }
        ret_message->kind = in->removes ? PW_PEER_NAME_REMOVE : PW_PEER_NAME_BIND;
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
        ret_message->kind = PW_PEER_NAME_ANSWER;
        ret_message->status = (enum pw_status)in->status;
        ret_message->text = in->text;
        return PW_OK;
}

enum pw_status pw_peer_name_unpack(const uint8_t *bytes, uint32_t count, struct pw_peer_name *ret_message,
                                   struct pw_error *ret_err)
{
        Pathways__Wire__PeerName *in = pathways__wire__peer_name__unpack(NULL, count, bytes);
        struct pw_peer_name message = { .own = in };
        enum pw_status status;

        if (!in || !in->number)
                status = pw_error_set(ret_err, PW_PROTOCOL, "%u bytes that no pathwaysd says of a name", count);
        else
                status = in->answers ? read_answer(in, &message, ret_err) : read_question(in, &message, ret_err);
        message.number = in ? in->number : 0;
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
