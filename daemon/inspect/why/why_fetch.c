/* Chains from a value that is on a device whose memory the processor does not read: room for a copy, or the device. */
#include "daemon/inspect/why/why.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "daemon/memory/fetch/fetch.h"
#include "store/object.h"

void pw_why_fetch(struct pw_chain *chain, const struct pw_object *object)
{
        struct pw_daemon *daemon = chain->lister->daemon;
        char what[100], waits[PW_WHY_BYTES], id[PW_ID_TEXT_BYTES], size[16];
        struct pw_fetch_seen seen;

        pw_text_format(what, sizeof what, "the bytes of object %s", pw_id_format(pw_object_id(daemon->store, object), id));
        if (!pw_fetch_see(daemon, object, &seen)) {
                pw_text_format(waits, sizeof waits, "somebody to read them: they are in memory of devices, which only those read");
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, 0,
                                                              "nothing: pw_get(), or another host, has them copied; runs there "
                                                              "read them as they are" });
        } else if (seen.room_token) {
                pw_text_format(waits, sizeof waits, "room of %s in host memory", pw_size_format(seen.bytes, size));
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, seen.since_us, "" });
                pw_why_room(chain, seen.tenant, seen.room_token);
        } else {
                pw_text_format(waits, sizeof waits, "device h%u:%u to copy them, between two gangs", daemon->host, seen.device);
                pw_chain_link(chain, &(struct pw_cause_link){ what, waits, seen.since_us, "" });
                pw_why_device(chain, seen.device);
        }
}

void pw_why_fetch_wait(struct pw_chain *chain, const struct pw_wait_row *wait)
{
        uint64_t now_us = chain->lister->now_us;
        char waits[PW_WHY_BYTES], id[PW_ID_TEXT_BYTES], left[16], limit[40] = "";

        if (wait->until_us < UINT64_MAX)
                pw_text_format(limit, sizeof limit, ", and gives up in %s",
                               pw_duration_format(wait->until_us - pw_min_u64(wait->until_us, now_us), left));
        pw_text_format(waits, sizeof waits, "the bytes of object %s%s",
                       pw_id_format(pw_object_id(chain->lister->daemon->store, wait->object), id), limit);
        pw_chain_link(chain, &(struct pw_cause_link){ wait->session->client, waits, wait->since_us, "" });
        pw_why_fetch(chain, wait->object);
}
