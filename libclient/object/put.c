/* Putting: bytes into a room of the lane's grant, then the swap that makes them an object. */
#include "base/memory.h"
#include "libclient/object/frozen.h"
#include "libclient/params.h"
#include "libclient/session.h"

#include <inttypes.h>

struct put {
        struct pw_client_lane *lane;
        struct pw_future *future;
        struct pw_described described;
        struct pw_slot slot;
        uint8_t *room; /* NULL: the value lies in the entry */
};

static enum pw_status described_of(uint64_t bytes, const struct pw_put_params *params, struct pw_described *ret_described,
                                   struct pw_error *ret_err)
{
        ret_described->bytes = bytes;
        ret_described->dtype = PW_OPAQUE;
        ret_described->dims.rank = 1; /* the rest of dims is looked at by nobody */
        ret_described->dims.dim[0] = bytes;
        if (!params || params->dtype == PW_OPAQUE)
                return PW_OK;
        uint64_t value_bytes;
        enum pw_status status = pw_dims_bytes(params->dtype, &params->dims, &value_bytes, ret_err);
        if (status != PW_OK)
                return status;
        if (value_bytes != bytes) {
                char dims[128];
                return pw_error_set(ret_err, PW_SHAPE, "%s %s has %" PRIu64 " bytes, %" PRIu64 " were given",
                                    pw_dtype_text(params->dtype), pw_dims_format(&params->dims, dims, sizeof dims), value_bytes,
                                    bytes);
        }
        ret_described->dtype = params->dtype;
        ret_described->dims = params->dims;
        return PW_OK;
}

/* Take a slot for the value; `need_bytes` of room, 0: none. */
static enum pw_status put_take(struct put *put, uint64_t need_bytes, int64_t timeout_us, struct pw_error *ret_err)
{
        struct pw_session *session = put->lane->session;
        struct pw_slot_request request = { PW_ROW_INLINE, need_bytes, timeout_us ? timeout_us : PW_PUT_TIMEOUT_US, 0 };
        if (need_bytes)
                request.row = pw_size_class(need_bytes);
        if (need_bytes && (need_bytes > session->host_capacity || request.row >= PW_CLASS_COUNT))
                return pw_error_set(ret_err, PW_TOO_LARGE, "%" PRIu64 " bytes: h%u has a capacity of %" PRIu64, need_bytes,
                                    session->host, session->host_capacity);
        put->future = pw_future_alloc(put->lane);
        if (!put->future)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a future");
        enum pw_status status = pw_lane_take(put->lane, &request, &put->slot, ret_err);
        if (status != PW_OK) {
                pw_future_free(put->future, put->lane);
                return status;
        }
        put->described.is_inline = !need_bytes;
        put->described.room_segment = session->own->number;
        put->described.room_offset = need_bytes ? put->slot.room_offset : 0;
        put->room = need_bytes ? session->own->map.base + put->slot.room_offset : NULL;
        return PW_OK;
}

static enum pw_status params_check(const struct pw_put_params *params, struct pw_error *ret_err)
{
        if (params && params->timeout_us < 0)
                return pw_error_set(ret_err, PW_INVALID, "a timeout of %" PRId64 " us", params->timeout_us);
        return PW_OK;
}

static enum pw_status put_begin(struct put *put, struct pw_session *session, uint64_t bytes, const struct pw_put_params *params,
                                struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK)
                status = params_check(params, ret_err);
        if (status == PW_OK)
                status = described_of(bytes, params, &put->described, ret_err);
        if (status == PW_OK)
                status = pw_lane_get(session, &put->lane, ret_err);
        return status;
}

/* Fill the entry and the handle. The entry stays PENDING. */
static void put_fill(struct put *put)
{
        pw_entry_fill(put->slot.entry, &put->described, put->room);
        put->slot.entry->label = 0;
        pw_future_fill(put->future, put->lane->session->own, put->slot.slot, put->slot.generation);
}

/* Out of PENDING, and tell who asked to be told. False: somebody else decided first. */
static bool decide(struct pw_future *future, enum pw_status status)
{
        struct pw_session *session = pw_future_session(future);
        uint64_t old;
        if (!pw_entry_decide(future->entry, future->generation, status, 0, UINT32_MAX, &old))
                return false;
        pw_hint_wake(session->hints, future->entry, future->segment, future->slot);
        if (pw_word_flags(old) & PW_ENTRY_RING)
                pw_connection_doorbell(session->connection);
        return true;
}

enum pw_status pw_put_sized(struct pw_session *session, const void *data, uint64_t bytes, const struct pw_put_params *params,
                            size_t params_bytes, struct pw_future **ret_future, struct pw_error *ret_err)
{
        struct pw_put_params known;
        struct put put;
        if (!PW_PARAMS_KNOWN(params, params_bytes)) {
                enum pw_status status = pw_params_convert(
                        &(struct pw_params){ "pw_put()", params, params_bytes, &known, sizeof known }, ret_err);
                if (status != PW_OK)
                        return status;
                params = &known;
        }
        if (params && params->flags)
                return pw_put_flagged(session, &(struct pw_bytes){ data, bytes }, params, ret_future, ret_err);
        enum pw_status status = put_begin(&put, session, bytes, params, ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_future, "ret_future", ret_err);
        if (status != PW_OK)
                return status;
        if (!data && bytes)
                return pw_error_set(ret_err, PW_INVALID, "data is NULL for %" PRIu64 " bytes", bytes);
        uint64_t need_bytes = pw_entry_room_bytes(bytes, put.described.dtype, &put.described.dims);
        status = put_take(&put, need_bytes, params ? params->timeout_us : 0, ret_err);
        if (status != PW_OK)
                return status;
        if (bytes)
                memcpy(put.room ? put.room : put.slot.entry->body.value, data, bytes);
        put_fill(&put);
        if (!decide(put.future, PW_OK)) { /* only the end of the session decides what is ours */
                pw_unref(put.future);
                return pw_error_set(ret_err, PW_DAEMON_GONE, "the session ended");
        }
        *ret_future = put.future;
        return PW_OK;
}

enum pw_status pw_create_sized(struct pw_session *session, uint64_t bytes, const struct pw_put_params *params,
                               size_t params_bytes, struct pw_future **ret_future, void **ret_data, struct pw_error *ret_err)
{
        struct pw_put_params known;
        struct put put;
        if (!PW_PARAMS_KNOWN(params, params_bytes)) {
                enum pw_status status = pw_params_convert(
                        &(struct pw_params){ "pw_create()", params, params_bytes, &known, sizeof known }, ret_err);
                if (status != PW_OK)
                        return status;
                params = &known;
        }
        if (params && params->flags)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "a value that is written in place cannot be frozen: pw_put() it");
        enum pw_status status = put_begin(&put, session, bytes, params, ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_future, "ret_future", ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_data, "ret_data", ret_err);
        if (status != PW_OK)
                return status;
        /* A value that would lie in the entry gets a room all the same: the caller is promised a line of its own. */
        uint64_t need_bytes = pw_entry_room_bytes(bytes, put.described.dtype, &put.described.dims);
        status = put_take(&put, pw_max_u64(need_bytes, 1), params ? params->timeout_us : 0, ret_err);
        if (status != PW_OK)
                return status;
        put_fill(&put);
        atomic_fetch_or(&put.future->refs, PW_REFS_CREATED);
        *ret_data = put.room;
        *ret_future = put.future;
        return PW_OK;
}

static enum pw_status finish(struct pw_future *future, enum pw_status outcome, struct pw_error *ret_err)
{
        enum pw_status status = pw_future_check(future, ret_err);
        if (status != PW_OK)
                return status;
        if (!(atomic_fetch_and(&future->refs, ~PW_REFS_CREATED) & PW_REFS_CREATED)) {
                char id[PW_ID_TEXT_BYTES];
                return pw_error_set(ret_err, PW_INVALID, "%s: not created, or sealed or aborted already",
                                    pw_id_format(pw_future_id(future), id));
        }
        if (!decide(future, outcome))
                return pw_error_set(ret_err, PW_DAEMON_GONE, "the session ended");
        return PW_OK;
}

enum pw_status pw_seal(struct pw_future *future, struct pw_error *ret_err) { return finish(future, PW_OK, ret_err); }
enum pw_status pw_abort(struct pw_future *future, struct pw_error *ret_err) { return finish(future, PW_CANCELLED, ret_err); }
