/* The store of a host of the world: what it has, who holds it, and when it goes. */
#include "tests/world/cluster/hosts.h"

static struct host *host_of(uint32_t number) { return &world->hosts[number]; }

/* Nobody holds it: it goes some time later, if nobody takes it until then. */
static void look(struct object *object)
{
        if (object->refs || object->loans)
                object->free_at_us = 0;
        else if (!object->free_at_us)
                object->free_at_us = world->now_us + 1 + (hosts_below(2) ? 0 : hosts_below(30000));
}

struct object *store_find(uint32_t number, struct pw_id id)
{
        struct object *object;

        pw_list_each(&host_of(number)->objects, object, struct object, link)
                if (pw_id_equal(object->thing->id, id) && (!object->proxy || object->state != OBJECT_LOST))
                        return object;
        return NULL;
}

static struct object *add(uint32_t number, struct thing *thing, struct pw_proxy *proxy)
{
        struct object *object = calloc(1, sizeof *object);

        assert_non_null(object);
        object->thing = thing;
        object->proxy = proxy;
        pw_list_append(&host_of(number)->objects, &object->link);
        return object;
}

struct object *store_put(uint32_t number, uint64_t bytes, bool ready)
{
        struct thing *thing = calloc(1, sizeof *thing);
        struct object *object;

        assert_non_null(thing);
        thing->id = pw_id_make(number, host_of(number)->epoch, 3, ++host_of(number)->slots, 1);
        thing->bytes = bytes;
        thing->value = thing->id.place * 31 + thing->id.epoch;
        thing->is_there = true;
        pw_list_append(&world->things, &thing->link);
        object = add(number, thing, NULL);
        object->refs = 1;
        if (ready)
                store_decide(number, object, OBJECT_READY);
        return object;
}

/* --- what is known ---------------------------------------------------------------------------------------------------------- */

static struct pw_talk_known known_of(const struct object *object)
{
        static uint64_t value[PW_TALK_VALUE_MAX / 8];
        struct pw_talk_known known = { .status = object->status, .text = { "it failed", 9 } };

        if (object->state == OBJECT_FAILED || object->state == OBJECT_LOST) {
                known.state = object->state == OBJECT_FAILED ? PW_TALK_FAILED : PW_TALK_ENDED;
                return known;
        }
        known = (struct pw_talk_known){ .state = PW_TALK_PENDING, .dims = { 1, { object->thing->bytes } },
                                        .bytes = object->thing->bytes };
        if (object->state == OBJECT_READY)
                known.state = object->thing->bytes <= PW_TALK_VALUE_MAX ? PW_TALK_WHOLE : PW_TALK_ELSEWHERE;
        if (known.state == PW_TALK_WHOLE) {
                value[0] = object->value;
                known.value = (struct pw_talk_bytes){ value, (uint32_t)known.bytes };
        }
        return known;
}

uint64_t store_value(const struct pw_talk_known *known)
{
        uint64_t value;

        hosts_must(known->value.count >= sizeof value, "a value is too short");
        memcpy(&value, known->value.at, sizeof value);
        return value;
}

void store_decide(uint32_t number, struct object *object, enum object_state state)
{
        struct held *held;
        struct pw_talk_known known;

        if (state == OBJECT_LOST ? object->state != OBJECT_READY : object->state != OBJECT_PENDING)
                return;
        object->state = state;
        object->status = state == OBJECT_READY ? PW_OK : state == OBJECT_FAILED ? PW_FAILED : PW_DEVICE_LOST;
        object->value = object->thing->value;
        object->since_us = world->now_us;
        known = known_of(object);
        pw_list_each(&host_of(number)->held, held, struct held, link)
                if (held->object == object)
                        hosts_must(pw_lend_told(host_of(number)->lend, held->session, held->number, &known, NULL) == PW_OK,
                                   "no memory");
        hosts_act(number);
}

/* --- those here ------------------------------------------------------------------------------------------------------------- */

enum pw_status store_open(uint32_t number, const struct thing *thing, uint64_t opener, uint64_t until_us,
                          struct object **ret_object)
{
        struct host *host = host_of(number);
        struct pw_borrow_request request = { thing->id, TENANT, opener, until_us, world->now_us };
        struct pw_proxy *proxy = NULL;
        struct pw_proxy_row row;
        enum pw_status status = PW_OK;

        *ret_object = NULL;
        if (pw_id_host(thing->id) == number && thing->id.epoch == host->epoch) {
                *ret_object = store_find(number, thing->id);
                status = *ret_object ? PW_OK : PW_GONE;
        } else {
                status = pw_borrow_open(host->borrow, &request, &proxy, NULL);
                if (status == PW_OK) {
                        pw_proxy_row(proxy, &row);
                        *ret_object = row.place;
                        hosts_must(row.state == PW_PROXY_ALONE || row.number, "an open finds a proxy of an ended term");
                }
        }
        if (status == PW_OK) {
                hosts_must(!(*ret_object)->proxy || (*ret_object)->state != OBJECT_LOST || (*ret_object)->status != PW_HOST_LOST,
                           "a lost host is handed on");
                (*ret_object)->refs++;
                look(*ret_object);
        }
        hosts_act(number);
        return status;
}

void store_drop(uint32_t number, struct object *object)
{
        (void)number;
        hosts_must(object->refs, "dropped more often than held");
        object->refs--;
        look(object);
}

void store_read(uint32_t number, struct object *object)
{
        (void)number;
        if (object->state == OBJECT_ELSEWHERE && !object->pull_at_us)
                object->pull_at_us = world->now_us + 1000 + hosts_below(20000);
        if (object->state == OBJECT_READY)
                hosts_must(object->value == object->thing->value, "a value is read that was not put");
}

/* --- proxies ---------------------------------------------------------------------------------------------------------------- */

static void become(struct object *object, const struct pw_talk_known *known)
{
        switch (known->state) {
        case PW_TALK_PENDING: object->state = OBJECT_PENDING; break;
        case PW_TALK_ELSEWHERE: object->state = OBJECT_ELSEWHERE; break;
        case PW_TALK_WHOLE:
                object->state = OBJECT_READY;
                object->value = store_value(known);
                object->since_us = world->now_us;
                hosts_must(object->value == object->thing->value, "a value came that was not put");
                break;
        case PW_TALK_FAILED: object->state = OBJECT_FAILED; break;
        default: object->state = OBJECT_LOST;
        }
        object->status = known->status;
}

void store_make(uint32_t number, const struct pw_borrow_action *action)
{
        struct pw_proxy_row row;
        struct object *object;
        struct thing *thing;

        if (!world->calm && hosts_below(40) == 0) {
                host_of(number)->unmade = action->proxy;
                return;
        }
        pw_proxy_row(action->proxy, &row);
        hosts_must(!store_find(number, row.id), "two proxies of one object");
        pw_list_each(&world->things, thing, struct thing, link)
                if (pw_id_equal(thing->id, row.id)) {
                        object = add(number, thing, action->proxy);
                        pw_proxy_set_place(action->proxy, object);
                        become(object, action->known);
                        look(object);
                        return;
                }
        hosts_must(false, "nobody has put it");
}

static struct object *object_of(const struct pw_borrow_action *action)
{
        struct pw_proxy_row row;

        pw_proxy_row(action->proxy, &row);
        hosts_must(row.place, "no slot was made");
        return row.place;
}

void store_tell(uint32_t number, const struct pw_borrow_action *action)
{
        struct object *object = object_of(action);

        (void)number;
        hosts_must(object->state == OBJECT_PENDING || (object->state == OBJECT_ELSEWHERE && action->known->state == PW_TALK_ENDED),
                   "what was decided is decided once more");
        become(object, action->known);
}

void store_fetch(uint32_t number, const struct pw_borrow_action *action) { store_read(number, object_of(action)); }

void store_lose(uint32_t number, const struct pw_borrow_action *action)
{
        struct object *object = object_of(action);

        (void)number;
        hosts_must(object->state == OBJECT_PENDING || object->state == OBJECT_ELSEWHERE, "a value that is here is lost");
        hosts_must(action->status == PW_HOST_LOST && action->epoch, "lost, and nobody says whom");
        hosts_must(action->host == object->left.host && action->epoch == object->left.epoch, "lost with who did not hold it");
        hosts_must(!object->left.well, "lost with a host that had drained");
        object->state = OBJECT_LOST;
        object->status = PW_HOST_LOST;
}

void store_term_ended(uint32_t number, uint32_t other, uint32_t epoch)
{
        struct object *object;
        struct pw_proxy_row row;

        pw_list_each(&host_of(number)->objects, object, struct object, link) {
                if (!object->proxy)
                        continue;
                pw_proxy_row(object->proxy, &row);
                if (row.lender != other || row.state == PW_PROXY_RENEWING || row.state == PW_PROXY_FOLLOWING)
                        continue; /* nor was it held there: that was asked for */
                object->left.host = other;
                object->left.epoch = epoch;
                object->left.well = host_of(other)->ended_well[number] == epoch;
        }
}

/* --- what is lent ----------------------------------------------------------------------------------------------------------- */

/* This host takes over from another one: what it is to lend, and has not whole, it opens itself. True: it does, then answers. */
static bool take(uint32_t number, struct held *held)
{
        struct host *host = host_of(number);
        struct thing *thing;

        if (held->opener || pw_id_host(held->id) == number || !pw_borrow_takes_over(host->borrow))
                return false;
        if (pw_borrow_whole(host->borrow, held->id, (struct pw_talk_bytes){ TENANT, strlen(TENANT) }))
                return false;
        pw_list_each(&world->things, thing, struct thing, link) {
                enum pw_status status;

                if (!pw_id_equal(thing->id, held->id))
                        continue;
                held->at_us = 0;
                held->opener = TAKERS + ++world->takers;
                status = store_open(number, thing, held->opener, world->now_us + 30 * SECOND, &held->taken);
                if (status == PW_NOT_READY)
                        return true;
                held->at_us = world->now_us + 1;
                return status == PW_OK;
        }
        return false;
}

bool store_taken(uint32_t number, uint64_t opener, struct object *object, const struct pw_error *err)
{
        struct held *held;

        (void)err;
        pw_list_each(&host_of(number)->held, held, struct held, link)
                if (held->opener == opener) {
                        held->taken = object;
                        held->at_us = world->now_us + 1;
                }
        return opener > TAKERS;
}

/* It waits for the bytes of what it has opened; what is not decided it does not lend: its home does. */
static bool waits(uint32_t number, struct held *held)
{
        if (!held->taken || held->taken->state != OBJECT_ELSEWHERE)
                return false;
        store_read(number, held->taken);
        held->at_us = world->now_us + 10000;
        return true;
}

static void answer_hold(uint32_t number, struct held *held)
{
        struct host *host = host_of(number);
        struct pw_talk_known known = { .state = PW_TALK_NONE, .status = PW_GONE, .text = { "it is gone", 10 } };
        struct object *object = NULL;
        struct pw_proxy_row row;
        struct pw_proxy *proxy;

        if (take(number, held) || waits(number, held))
                return;
        if (pw_id_host(held->id) == number && held->id.epoch == host->epoch)
                object = store_find(number, held->id);
        else if ((proxy = pw_borrow_whole(host->borrow, held->id, (struct pw_talk_bytes){ TENANT, strlen(TENANT) }))) {
                pw_proxy_row(proxy, &row);
                object = row.place;
        } else if (pw_id_host(held->id) == number)
                known.status = PW_HOST_LOST;
        held->at_us = 0;
        held->object = object;
        if (object) {
                object->loans++;
                look(object);
                known = known_of(object);
        }
        hosts_must(pw_lend_held(host->lend, held->session, held->number, &known, NULL) == PW_OK, "no memory");
        if (held->taken)
                store_drop(number, held->taken);
        held->taken = NULL;
        if (!object) {
                pw_list_remove(&held->link);
                free(held);
        }
}

void store_hold(uint32_t number, const struct pw_lend_action *action)
{
        struct held *held = calloc(1, sizeof *held);

        assert_non_null(held);
        *held = (struct held){ .session = action->session, .number = action->number, .id = action->id };
        pw_list_append(&host_of(number)->held, &held->link);
        if (world->calm || hosts_below(2))
                answer_hold(number, held);
        else
                held->at_us = world->now_us + 1 + hosts_below(hosts_below(50) ? 5000 : 6 * SECOND);
}

void store_unhold(uint32_t number, const struct pw_lend_action *action)
{
        struct held *held;

        pw_list_each(&host_of(number)->held, held, struct held, link)
                if (held->session == action->session && held->number == action->number) {
                        hosts_must(held->object && held->object->loans, "let go of twice");
                        held->object->loans--;
                        look(held->object);
                        pw_list_remove(&held->link);
                        free(held);
                        return;
                }
        hosts_must(false, "let go of what was not held");
}

struct search { uint32_t borrower; uint64_t number, session; };

static void match(void *context, const struct pw_lend_row *row)
{
        struct search *search = context;

        if (row->host == search->borrower && row->number == search->number && !row->is_over)
                search->session = row->session;
}

const struct held *store_held_for(uint32_t number, uint32_t borrower, uint64_t loan)
{
        struct search search = { borrower, loan, 0 };
        struct held *held;

        pw_lend_each(host_of(number)->lend, match, &search);
        pw_list_each(&host_of(number)->held, held, struct held, link)
                if (search.session && held->session == search.session && held->number == loan && held->object)
                        return held;
        return NULL;
}

/* --- time ------------------------------------------------------------------------------------------------------------------- */

static bool reaches(uint32_t from, uint32_t to)
{
        return world->hosts[to].borrow && world->now_us >= world->hosts[to].stopped_until_us &&
               world->now_us >= world->blocked_until_us[from][to] && world->now_us >= world->blocked_until_us[to][from];
}

/* The bytes come of whoever holds it for this host. */
static void pull(uint32_t number, struct object *object)
{
        const struct held *held = NULL;
        struct pw_proxy_row row;

        object->pull_at_us = 0;
        if (object->state != OBJECT_ELSEWHERE)
                return;
        pw_proxy_row(object->proxy, &row);
        if (row.lender && reaches(number, row.lender))
                held = store_held_for(row.lender, number, row.number);
        if (!held || held->object->state != OBJECT_READY) {
                object->pull_at_us = world->now_us + 200000;
                return;
        }
        object->state = OBJECT_READY;
        object->value = held->object->value;
        object->since_us = world->now_us;
        pw_borrow_pulled(host_of(number)->borrow, object->proxy);
}

static void forget_object(uint32_t number, struct object *object)
{
        if (object->proxy)
                pw_borrow_freed(host_of(number)->borrow, object->proxy);
        else
                object->thing->is_there = false;
        pw_list_remove(&object->link);
        free(object);
        hosts_act(number);
}

void store_turn(uint32_t number)
{
        struct object *object;
        struct held *held;

        pw_list_each(&host_of(number)->held, held, struct held, link)
                if (held->at_us && held->at_us <= world->now_us) {
                        answer_hold(number, held);
                        break; /* the list may have changed */
                }
        hosts_act(number);
        pw_list_each(&host_of(number)->objects, object, struct object, link) {
                if (object->pull_at_us && object->pull_at_us <= world->now_us)
                        pull(number, object);
                if (object->free_at_us && object->free_at_us <= world->now_us) {
                        forget_object(number, object);
                        break;
                }
        }
}

uint64_t store_next_us(uint32_t number)
{
        uint64_t at_us = UINT64_MAX;
        struct object *object;
        struct held *held;

        pw_list_each(&host_of(number)->held, held, struct held, link)
                at_us = held->at_us ? pw_min_u64(at_us, held->at_us) : at_us;
        pw_list_each(&host_of(number)->objects, object, struct object, link) {
                at_us = object->pull_at_us ? pw_min_u64(at_us, object->pull_at_us) : at_us;
                at_us = object->free_at_us ? pw_min_u64(at_us, object->free_at_us) : at_us;
        }
        return at_us;
}

void store_done(uint32_t number)
{
        struct object *object;
        struct held *held;

        pw_list_each(&host_of(number)->objects, object, struct object, link) {
                object->thing->is_there &= object->proxy != NULL;
                pw_list_remove(&object->link);
                free(object);
        }
        pw_list_each(&host_of(number)->held, held, struct held, link) {
                pw_list_remove(&held->link);
                free(held);
        }
}
