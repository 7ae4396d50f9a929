/* Of listings, by protobuf. */
#include "daemon/peer/page/page_codec.h"

#include "cluster/link/link.h"
#include "wire/peer.pb-c.h"

#include <stdlib.h>
#include <string.h>

#define TENANT_MAX 255u

/* --- out -------------------------------------------------------------------------------------------------------------------- */

static void write_question(const struct pw_peer_page *message, Pathways__Wire__PeerPage *out)
{
        out->tenant = (char *)(uintptr_t)message->tenant;
        out->all = message->all;
        out->what = (char *)(uintptr_t)message->what;
        out->filter = (char *)(uintptr_t)message->filter;
        out->limit = message->limit;
        out->after = message->after;
        out->trace = message->trace;
        out->drain = message->drain;
}

static void write_answer(const struct pw_peer_page *message, Pathways__Wire__PeerPage *out)
{
        out->status = message->status;
        out->text = (char *)(uintptr_t)message->text;
        out->rows.data = (uint8_t *)(uintptr_t)message->rows;
        out->rows.len = message->rows_bytes;
}

struct pw_link_frame *pw_peer_page_frame(const struct pw_peer_page *message)
{
        Pathways__Wire__PeerPage out = PATHWAYS__WIRE__PEER_PAGE__INIT;
        struct pw_link_frame *frame = NULL;
        uint8_t *bytes;
        size_t count;

        out.number = message->number;
        out.answers = message->answers;
        if (message->answers)
                write_answer(message, &out);
        else
                write_question(message, &out);
        count = pathways__wire__peer_page__get_packed_size(&out);
        bytes = malloc(count);
        if (bytes) {
                pathways__wire__peer_page__pack(&out, bytes);
                frame = pw_link_frame_new(bytes, (uint32_t)count, !message->answers);
        }
        free(bytes);
        return frame;
}

/* --- in --------------------------------------------------------------------------------------------------------------------- */

static enum pw_status read_question(const Pathways__Wire__PeerPage *in, struct pw_peer_page *message, struct pw_error *ret_err)
{
        if (!in->tenant[0] || strlen(in->tenant) > TENANT_MAX)
                return pw_error_set(ret_err, PW_PROTOCOL, "a host asks for a listing of no tenant");
        if (in->trace && in->limit > PW_PEER_TRACE_END)
                return pw_error_set(ret_err, PW_PROTOCOL, "a host asks %u of a trace: there is nothing of that number", in->limit);
        if (in->drain && (in->trace || !in->all))
                return pw_error_set(ret_err, PW_PROTOCOL, "a host asks to drain, for somebody who is no operator");
        message->tenant = in->tenant;
        message->all = in->all;
        message->what = in->what;
        message->filter = in->filter;
        message->limit = in->limit;
        message->after = in->after;
        message->trace = in->trace;
        message->drain = in->drain;
        return PW_OK;
}

static enum pw_status read_answer(const Pathways__Wire__PeerPage *in, struct pw_peer_page *message, struct pw_error *ret_err)
{
        if (!pw_status_known(in->status))
                return pw_error_set(ret_err, PW_PROTOCOL, "a host answers with status %u: there is no such", in->status);
        message->status = (enum pw_status)in->status;
        message->text = in->text;
        message->rows = in->rows.data;
        message->rows_bytes = (uint32_t)in->rows.len;
        return PW_OK;
}

enum pw_status pw_peer_page_unpack(const uint8_t *bytes, uint32_t count, struct pw_peer_page *ret_message,
                                   struct pw_error *ret_err)
{
        Pathways__Wire__PeerPage *in = pathways__wire__peer_page__unpack(NULL, count, bytes);
        struct pw_peer_page message = { .own = in };
        enum pw_status status;

        if (!in || !in->number) {
                status = pw_error_set(ret_err, PW_PROTOCOL, "%u bytes that no pathwaysd says of a listing", count);
        } else {
                message.answers = in->answers;
                message.number = in->number;
                status = in->answers ? read_answer(in, &message, ret_err) : read_question(in, &message, ret_err);
        }
        if (status == PW_OK)
                *ret_message = message;
        else
                pw_peer_page_done(&message);
        return status;
}

void pw_peer_page_done(struct pw_peer_page *message)
{
        if (message->own)
                pathways__wire__peer_page__free_unpacked(message->own, NULL);
        message->own = NULL;
}
