/* Lending: sessions of other hosts, and the references that they hold. */
#include "cluster/borrow/lend.h"

#include "cluster/link/link.h"

#include "base/list.h"
#include "base/table.h"
#include "base/transition.h"

struct session {
        struct pw_list link;   /* in `over`, once it has ended */
        uint64_t handle, last; /* number of the last OPEN or SEARCH */
        uint32_t host;
        struct pw_table loans; /* by number */
        struct pw_list all;
};
struct loan {
        struct pw_list link;
        struct session *session;
        uint64_t number;
        struct pw_id id;
        enum pw_loan_state state;
};
struct pw_lend {
        const struct pw_observer *observer;
        uint64_t handles;
        struct pw_table hosts, sessions; /* sessions, by host those that go on, by handle all */
        struct pw_list over;
        struct pw_lend_action *actions;
        uint32_t first, count, capacity;
        uint32_t loans; /* for each there is place for the action that ends it */
};

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_LOAN_##state)

static const uint8_t rules[PW_LOAN_STATES][PW_LOAN_EVENTS] = {
        [PW_LOAN_NONE] = { [PW_LOAN_OPEN] = TO(ASKED) },
        [PW_LOAN_ASKED] = { [PW_LOAN_HELD] = TO(PENDING), [PW_LOAN_VALUE] = TO(READY), [PW_LOAN_ERROR] = TO(ENDED),
                            [PW_LOAN_REFUSE] = TO(NONE), [PW_LOAN_END] = TO(DROPPED) },
        [PW_LOAN_PENDING] = { [PW_LOAN_VALUE] = TO(READY), [PW_LOAN_ERROR] = TO(ENDED), [PW_LOAN_RELEASE] = TO(NONE),
                              [PW_LOAN_END] = TO(NONE) },
        [PW_LOAN_READY] = { [PW_LOAN_ERROR] = TO(ENDED), [PW_LOAN_RELEASE] = TO(NONE), [PW_LOAN_END] = TO(NONE) },
        [PW_LOAN_ENDED] = { [PW_LOAN_RELEASE] = TO(NONE), [PW_LOAN_END] = TO(NONE) },
        [PW_LOAN_DROPPED] = { [PW_LOAN_HELD] = TO(NONE), [PW_LOAN_VALUE] = TO(NONE), [PW_LOAN_ERROR] = TO(NONE),
                              [PW_LOAN_REFUSE] = TO(NONE) },
};
static const char *const states[] = { "none", "asked", "pending", "ready", "ended", "dropped" };
static const char *const events[] = { "open", "held", "value", "error", "refuse", "release", "end" };
static const struct pw_transition_kind kind = { "loan", 2, false, states, events };
_Static_assert(sizeof states / sizeof *states == PW_LOAN_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_LOAN_EVENTS, "each event has a word");

/* The one setter. False: the event has no meaning in its state. */
static bool step(const struct pw_lend *lend, struct loan *loan, enum pw_loan_event event)
{
        enum pw_loan_state from = loan->state;
        uint8_t rule = rules[from][event];

        if (!rule)
                return false;
        loan->state = (enum pw_loan_state)(rule - 1);
        if (lend->observer)
                lend->observer->tell(lend->observer->context,
                                     &(struct pw_transition){ .kind = &kind, .id = { loan->session->handle, loan->number },
                                                              .from = (uint8_t)from, .to = (uint8_t)loan->state,
                                                              .cause = (uint8_t)event });
        return true;
}

static enum pw_loan_event event_of(const struct pw_talk_known *known)
{
        switch (known->state) {
        case PW_TALK_NONE: return PW_LOAN_REFUSE;
        case PW_TALK_PENDING: return PW_LOAN_HELD;
        case PW_TALK_ELSEWHERE: case PW_TALK_WHOLE: return PW_LOAN_VALUE;
        default: return PW_LOAN_ERROR;
        }
}

/* --- actions ---------------------------------------------------------------------------------------------------------------- */

/* Place for one action more, besides those that end loans. */
static bool prepare(struct pw_lend *lend)
{
        if (lend->first == lend->count)
                lend->first = lend->count = 0;
        return pw_grow((void **)&lend->actions, &lend->capacity, lend->count + lend->loans + 2, sizeof *lend->actions);
}

static void act(struct pw_lend *lend, const struct pw_lend_action *action)
{
        lend->actions[lend->count++] = *action;
}

bool pw_lend_next(struct pw_lend *lend, struct pw_lend_action *ret_action)
{
        if (lend->first == lend->count)
                return false;
        *ret_action = lend->actions[lend->first++];
        return true;
}

static enum pw_status no_memory(const struct session *session, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u holds here", session->host);
}

/* A session that has ended says nothing more. */
static enum pw_status say(struct pw_lend *lend, const struct session *session, const struct pw_talk_message *message,
                          struct pw_error *ret_err)
{
        bool goes_on = pw_table_get(&lend->hosts, session->host) == session;
        struct pw_link_frame *frame = goes_on && prepare(lend) ? pw_talk_encode(message) : NULL;

        if (!frame)
                return goes_on ? no_memory(session, ret_err) : PW_OK;
        act(lend, &(struct pw_lend_action){ .kind = PW_LEND_SEND, .host = session->host, .frame = frame,
                                            .answers = pw_talk_is_answer(message->kind) });
        return PW_OK;
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_lend_new(const struct pw_observer *observer, struct pw_lend **ret_lend, struct pw_error *ret_err)
{
        struct pw_lend *lend = calloc(1, sizeof *lend);

        if (!lend)
                return pw_error_set(ret_err, PW_NO_MEMORY, "what this host lends");
        lend->observer = observer;
        pw_list_init(&lend->over);
        *ret_lend = lend;
        return PW_OK;
}

static void forget_loan(struct pw_lend *lend, struct loan *loan)
{
        (void)pw_table_remove(&loan->session->loans, loan->number);
        pw_list_remove(&loan->link);
        lend->loans--;
        free(loan);
}

static void forget_session(struct pw_lend *lend, struct session *session)
{
        struct loan *loan;

        pw_list_each(&session->all, loan, struct loan, link)
                forget_loan(lend, loan);
        (void)pw_table_remove(&lend->sessions, session->handle);
        if (pw_table_get(&lend->hosts, session->host) == session)
                (void)pw_table_remove(&lend->hosts, session->host);
        pw_list_remove(&session->link);
        pw_table_done(&session->loans);
        free(session);
}

void pw_lend_free(struct pw_lend *lend)
{
        struct pw_lend_action action;
        struct session *session;

        if (!lend)
                return;
        while (pw_lend_next(lend, &action))
                pw_link_frame_free(action.frame);
        for (uint32_t at = 0; (session = pw_table_next(&lend->sessions, &at)); at = 0)
                forget_session(lend, session);
        pw_table_done(&lend->hosts);
        pw_table_done(&lend->sessions);
        free(lend->actions);
        free(lend);
}

/* --- what other hosts say --------------------------------------------------------------------------------------------------- */

static struct session *session_new(struct pw_lend *lend, uint32_t host)
{
        struct session *session = calloc(1, sizeof *session);

        if (!session)
                return NULL;
        session->host = host;
        session->handle = ++lend->handles;
        pw_list_init(&session->link);
        pw_list_init(&session->all);
        if (pw_table_put(&lend->sessions, session->handle, session) && pw_table_put(&lend->hosts, host, session))
                return session;
        forget_session(lend, session);
        return NULL;
}

static enum pw_status open_loan(struct pw_lend *lend, struct session *session, const struct pw_talk_message *message,
                                struct pw_error *ret_err)
{
        struct loan *loan = prepare(lend) ? calloc(1, sizeof *loan) : NULL;

        if (!loan || !pw_table_put(&session->loans, message->number, loan)) {
                free(loan);
                return no_memory(session, ret_err);
        }
        *loan = (struct loan){ .session = session, .number = message->number, .id = message->id };
        pw_list_append(&session->all, &loan->link);
        lend->loans++;
        step(lend, loan, PW_LOAN_OPEN);
        act(lend, &(struct pw_lend_action){ .kind = PW_LEND_HOLD, .host = session->host, .session = session->handle,
                                            .number = message->number, .id = message->id, .message = message });
        return PW_OK;
}

/* The loan's state says NONE: it goes, and what was held is let go of. */
static void let_go(struct pw_lend *lend, struct loan *loan)
{
        act(lend, &(struct pw_lend_action){ .kind = PW_LEND_UNHOLD, .host = loan->session->host, .session = loan->session->handle,
                                            .number = loan->number, .id = loan->id });
        forget_loan(lend, loan);
}

static enum pw_status broken(const struct session *session, const char *what, uint64_t number, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_PROTOCOL, "host %u %s %lu", session->host, what, (unsigned long)number);
}

static enum pw_status release(struct pw_lend *lend, struct session *session, uint64_t number, struct pw_error *ret_err)
{
        struct loan *loan = pw_table_get(&session->loans, number);

        if (!loan || !step(lend, loan, PW_LOAN_RELEASE))
                return broken(session, "releases what it does not hold,", number, ret_err);
        let_go(lend, loan);
        return PW_OK;
}

enum pw_status pw_lend_receive(struct pw_lend *lend, uint32_t host, const struct pw_talk_message *message, struct pw_error *ret_err)
{
        struct session *session = pw_table_get(&lend->hosts, host);
        enum pw_status status = PW_OK;

        if (!session && !(session = session_new(lend, host)))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u holds here", host);
        if (message->kind == PW_TALK_RELEASE)
                return release(lend, session, message->number, ret_err);
        if (!pw_talk_is_work(message->kind))
                return broken(session, "says to a lender a message of kind", message->kind, ret_err);
        if (message->number <= session->last)
                return broken(session, "asks once more with the number", message->number, ret_err);
        if (message->kind == PW_TALK_OPEN)
                status = open_loan(lend, session, message, ret_err);
        else if (prepare(lend))
                act(lend, &(struct pw_lend_action){ .kind = PW_LEND_FIND, .host = host, .session = session->handle,
                                                    .number = message->number, .message = message });
        else
                status = no_memory(session, ret_err);
        if (status == PW_OK)
                session->last = message->number;
        return status;
}

/* --- what the store says ---------------------------------------------------------------------------------------------------- */

static struct loan *find(const struct pw_lend *lend, uint64_t handle, uint64_t number)
{
        struct session *session = pw_table_get(&lend->sessions, handle);

        return session ? pw_table_get(&session->loans, number) : NULL;
}

enum pw_status pw_lend_held(struct pw_lend *lend, uint64_t session, uint64_t number, const struct pw_talk_known *known,
                            struct pw_error *ret_err)
{
        struct pw_talk_message message = { .kind = PW_TALK_OPENED, .number = number, .known = *known };
        struct loan *loan = find(lend, session, number);
        struct session *asker;
        enum pw_status status;
        bool dropped;

        if (!loan || (loan->state != PW_LOAN_ASKED && loan->state != PW_LOAN_DROPPED))
                return PW_OK;
        status = say(lend, loan->session, &message, ret_err);
        if (status != PW_OK)
                return status;
        dropped = loan->state == PW_LOAN_DROPPED;
        asker = loan->session;
        step(lend, loan, event_of(known));
        if (dropped && known->state != PW_TALK_NONE)
                let_go(lend, loan);
        else if (loan->state == PW_LOAN_NONE)
                forget_loan(lend, loan);
        if (dropped && pw_list_empty(&asker->all))
                forget_session(lend, asker);
        return PW_OK;
}

enum pw_status pw_lend_told(struct pw_lend *lend, uint64_t session, uint64_t number, const struct pw_talk_known *known,
                            struct pw_error *ret_err)
{
        struct pw_talk_message message = { .kind = PW_TALK_TOLD, .number = number, .known = *known };
        struct loan *loan = find(lend, session, number);
        enum pw_status status;

        if (!loan || loan->state == PW_LOAN_ASKED || loan->state == PW_LOAN_DROPPED || !rules[loan->state][event_of(known)])
                return PW_OK;
        status = say(lend, loan->session, &message, ret_err);
        if (status == PW_OK)
                step(lend, loan, event_of(known));
        return status;
}

enum pw_status pw_lend_found(struct pw_lend *lend, uint64_t session, uint64_t number, struct pw_talk_bytes ids,
                             struct pw_error *ret_err)
{
        struct session *asker = pw_table_get(&lend->sessions, session);

        return asker ? say(lend, asker, &(struct pw_talk_message){ .kind = PW_TALK_FOUND, .number = number, .ids = ids }, ret_err)
                     : PW_OK;
}

/* --- the end of a term ------------------------------------------------------------------------------------------------------ */

void pw_lend_ended(struct pw_lend *lend, uint32_t host)
{
        struct session *session = pw_table_remove(&lend->hosts, host);

        if (session)
                pw_list_append(&lend->over, &session->link);
}

/* One reference of `session`. True: there was one that could go. */
static bool end_one(struct pw_lend *lend, struct session *session)
{
        struct loan *loan;

        pw_list_each(&session->all, loan, struct loan, link) {
                if (!step(lend, loan, PW_LOAN_END))
                        continue; /* the store has not answered */
                if (loan->state == PW_LOAN_NONE)
                        let_go(lend, loan);
                return true;
        }
        return false;
}

bool pw_lend_turn(struct pw_lend *lend, uint32_t parts)
{
        struct session *session;

        pw_list_each(&lend->over, session, struct session, link) {
                for (; parts && end_one(lend, session); parts--)
                        ;
                if (!parts)
                        return true;
                if (pw_list_empty(&session->all))
                        forget_session(lend, session);
        }
        return false;
}

uint64_t pw_lend_count(const struct pw_lend *lend) { return lend->loans; }

void pw_lend_each(const struct pw_lend *lend, void (*row)(void *, const struct pw_lend_row *), void *context)
{
        struct session *session;
        struct loan *loan;

        for (uint32_t at = 0; (session = pw_table_next(&lend->sessions, &at));)
                pw_list_each(&session->all, loan, struct loan, link)
                        row(context, &(struct pw_lend_row){ session->host, session->handle, loan->number, loan->id, loan->state,
                                                            pw_table_get(&lend->hosts, session->host) != session });
}
