/* What another host, or whoever can reach its door, says: greetings, answers to them, challenges, frames in pieces. The
 * first byte says which. */
#include "daemon/transport/greeting.h"
#include "daemon/transport/proof/challenge.h"
#include "daemon/transport/stream/frames.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool so)
{
        if (!so)
                abort();
}

/* As many bytes as it asks for, never more than it may ask for; what is sound is written as it was read. */
static void hear_greeting(const uint8_t *bytes, size_t count, bool answer)
{
        struct pw_greeting greeting = { .ticket_bytes = 0 };
        uint8_t again[PW_GREETING_MAX];
        uint32_t have = 0, need = 0, written;
        enum pw_status status;
        struct pw_error err;

        while ((status = answer ? pw_greeting_decode_answer(bytes, have, &greeting, &need, &err)
                                : pw_greeting_decode(bytes, have, &greeting, &need, &err)) == PW_NOT_READY) {
                require(need > have && need <= PW_GREETING_MAX);
                if (need > count)
                        return;
                have = need;
        }
        if (status != PW_OK)
                return;
        require(pw_host_name_ok(greeting.name) && greeting.ticket_bytes <= PW_TICKET_MAX);
        written = answer ? pw_greeting_encode_answer(PW_OK, greeting.name, again) : pw_greeting_encode(&greeting, again);
        require(written == have && !memcmp(bytes, again, have));
}

static void hear_challenge(const uint8_t *bytes, size_t count, bool caller)
{
        static const uint8_t about[PW_CHALLENGE_ABOUT];
        struct pw_secret secret = { (uint8_t *)"a secret", 8 };
        struct pw_challenge challenge;
        enum pw_status status = pw_challenge_begin(&challenge, &secret, caller, about, NULL);

        while (status == PW_OK && challenge.step < PW_CHALLENGE_STEPS) {
                require(challenge.need && challenge.need <= sizeof challenge.bytes);
                if (!pw_challenge_says(&challenge)) {
                        if (count < challenge.need)
                                return;
                        memcpy(challenge.bytes, bytes, challenge.need);
                        bytes += challenge.need;
                        count -= challenge.need;
                }
                status = pw_challenge_moved(&challenge, challenge.need, NULL);
        }
        require(status != PW_OK); /* nobody guesses a hash */
}

static void hear_frames(const uint8_t *bytes, size_t count)
{
        struct pw_frames frames = { .capacity = 0 };
        size_t piece = count ? 1 + bytes[0] % 64u : 1, handed = 0;
        enum pw_status status = PW_NOT_READY;

        for (size_t i = 1; i < count && status == PW_NOT_READY;) {
                const uint8_t *frame;
                uint32_t room = 0, length;
                uint8_t *at = pw_frames_room(&frames, &room);

                require(at && room);
                room = room < piece ? room : (uint32_t)piece;
                room = room < count - i ? room : (uint32_t)(count - i);
                memcpy(at, bytes + i, room);
                pw_frames_came(&frames, room);
                i += room;
                while ((status = pw_frames_next(&frames, &frame, &length, NULL)) == PW_OK) {
                        require(!length || !memcmp(frame, bytes + 1 + handed + PW_FRAMES_HEAD, length));
                        handed += PW_FRAMES_HEAD + length;
                }
        }
        pw_frames_done(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        if (!count)
                return 0;
        switch (bytes[0] % 5) {
        case 0: hear_greeting(bytes + 1, count - 1, false); break;
        case 1: hear_greeting(bytes + 1, count - 1, true); break;
        case 2: hear_challenge(bytes + 1, count - 1, false); break;
        case 3: hear_challenge(bytes + 1, count - 1, true); break;
        default: hear_frames(bytes + 1, count - 1); break;
        }
        return 0;
}
