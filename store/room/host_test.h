/* A host with two clients that ask for room.
 */
#ifndef PW_STORE_ROOM_HOST_TEST_H
#define PW_STORE_ROOM_HOST_TEST_H

#include "store/account/quota.h"
#include "store/fixture_test.h"

#define ROOM (64 * PW_KIB)

#define HOST (16 * ROOM + 16384) /* 16 rooms, and the pages of two entry tables and of their records */

struct host { struct fixture f; struct client *ann, *bo; };

static inline void open_host(struct host *h, uint64_t capacity_bytes)
{
        fixture_open(&h->f, capacity_bytes);
        h->ann = fixture_client(&h->f, "ann");
        h->bo = fixture_client(&h->f, "bo");
}

/* Ask; the token of the request. Actions are as they come. */
static inline uint64_t ask(struct host *h, const struct client *client, uint64_t bytes, uint32_t count)
{
        struct pw_room_request request = fixture_ask(&h->f, client, bytes, count);

        pw_store_room_request(h->f.store, &request);
        return request.token;
}

static inline const struct pw_store_action *refused(struct host *h, uint64_t token, enum pw_status status)
{
        const struct pw_store_action *action = fixture_only(&h->f, PW_STORE_REFUSE);

        assert_true(action->token == token);
        assert_int_equal(action->status, status);
        return action;
}

#endif
