/* Lanes, read by the daemon. */
#include "daemon/client/lane.h"

#include "daemon/memory/backing.h"
#include "daemon/work/submit.h"

#define QUIET_TURNS 64
#ifndef PW_LANE_QUANTUM /* fewer in tests/model */
#define PW_LANE_QUANTUM 16384u /* cells of a tenant's lanes in a round: about a millisecond */
#endif

static bool add_lane(struct pw_dsession *session)
{
        struct pw_dlane *lane;

        if (!pw_grow((void **)&session->lanes, &session->lane_capacity, session->lane_count + 1, sizeof *session->lanes) ||
            !(lane = calloc(1, sizeof *lane)))
                return false;
        lane->session = session;
        lane->reader.ring = &session->control->lanes[session->lane_count].ring;
        pw_list_init(&lane->hot);
        session->lanes[session->lane_count++] = lane;
        if (session->control_backed.backing)
                session->control_backed.backing->lanes++;
        return true;
}

/* Lanes that the client ever used; it can lie, so no more than there are. */
static uint32_t lane_count(struct pw_dsession *session)
{
        uint32_t count = session->control ? atomic_load(&session->control->lane_count) : 0;

        while (session->lane_count < pw_min_u64(count, PW_LANES_MAX) && !session->ended)
                if (!add_lane(session))
                        pw_session_end(session, "no memory for a lane of it");
        return session->lane_count;
}

/* Whose run that was not read yet makes a value that the record names: a session; 0: there is none. */
static uint32_t names_unclaimed(struct pw_dlane *lane, struct pw_cell cell, uint32_t left)
{
        struct pw_store *store = lane->session->daemon->store;
        uint32_t owner = 0;

        if (pw_cell_top(cell) == PW_RING_DROP || pw_cell_top(cell) == PW_RING_REF) {
                owner = pw_store_unclaimed(store, cell);
                return owner == lane->session->number ? owner : 0;
        }
        for (uint32_t i = 0; pw_cell_top(cell) == PW_RING_RUN && !owner && i < pw_cell_run_inputs(cell) && i + 2 < left; i++)
                owner = pw_store_unclaimed(store, pw_ring_peek(&lane->reader, 2 + i));
        return owner;
}

/* What may be read of the tenant's lanes in this round is known from here on. */
static void begin_part(const struct pw_dsession *session)
{
        struct pw_tenant *tenant = session->tenant;

        if (tenant->part_round == session->daemon->clients.round)
                return;
        tenant->part_round = session->daemon->clients.round;
        tenant->part = session->operator_ ? UINT32_MAX : PW_LANE_QUANTUM;
}

/* Is there some left of it? */
static bool has_part(const struct pw_dsession *session)
{
        struct pw_tenant *tenant = session->tenant;

        if (tenant->part)
                return true;
        tenant->behind = session->daemon->clients.round;
        return false;
}

/* Was there more to be read in this round than that? */
static bool is_behind(const struct pw_dsession *session) { return session->tenant->behind == session->daemon->clients.round; }

static void spend(const struct pw_dsession *session, uint32_t cells)
{
        session->tenant->part -= (uint32_t)pw_min_u64(cells, session->tenant->part);
}

/* Is all that is due of it known to wait for nobody? It was published before a scan at all lanes of which all was read that could
 * be, and no run was read since: what of those lanes was stuck then is so now, and nothing in them makes what this one names. So
 * one scan is for all that was there, however many records of it name what nobody makes. */
static bool is_settled(const struct pw_dlane *lane)
{
        const struct pw_tenant *tenant = lane->session->tenant;

        return lane->seen < tenant->settled.scan && tenant->settled.runs == tenant->runs;
}

static uint32_t read_cells(struct pw_dlane *lane, uint64_t now_us);
static void make_hot(struct pw_dlane *lane);

/* The sessions whose lanes are read to catch up: the one, or all of its tenant. */
static struct pw_dsession *next_of(struct pw_dsession *session, bool wide, uint32_t *i)
{
        struct pw_dsession *other;

        if (!wide)
                return (*i)++ ? NULL : session;
        while ((other = pw_table_next(&session->daemon->registry.sessions, i)))
                if (!other->ended && other->tenant == session->tenant)
                        return other;
        return NULL;
}

/* What is there now of these lanes is to be read in this round, and no more; `except` is being read. */
static void make_due(struct pw_dlane *except, bool wide)
{
        struct pw_dsession *session;
        struct pw_dlane *lane;
        uint32_t count, cells;
        uint64_t scan = except->session->tenant->scans += wide;

        for (uint32_t i = 0; (session = next_of(except->session, wide, &i));) {
                count = session->role == PW_ROLE_CLIENT ? lane_count(session) : 0;
                spend(session, count);
                for (uint32_t j = 0; j < count && (lane = session->lanes[j]); j++) {
                        if (lane == except)
                                continue;
                        cells = pw_ring_available(&lane->reader, &cells) ? cells : 0;
                        if (cells > lane->due)
                                lane->seen = scan;
                        lane->due = cells;
                }
        }
}

static uint32_t read_due(struct pw_dlane *except, bool wide, uint64_t now_us)
{
        struct pw_dsession *session;
        uint32_t records = 0, lanes = 0;

        for (uint32_t i = 0; (session = next_of(except->session, wide, &i)); lanes += session->lane_count)
                for (uint32_t j = 0; j < session->lane_count; j++)
                        if (session->lanes[j] != except)
                                records += read_cells(session->lanes[j], now_us);
        spend(except->session, lanes); /* behind what was read: each round reads some */
        return records;
}

/* Go on with what is due of the other lanes. Once in a round it is seen what is there, which is enough for all that is read in it,
 * as that was published before; a catching up that goes on from another round has seen it there. Where nothing of it could be read,
 * nothing can until another run was. False: nothing was read. */
static bool go_on(struct pw_dlane *lane, bool wide, uint64_t now_us)
{
        const struct pw_tenant *tenant = lane->session->tenant;
        struct pw_catching *catching = wide ? &lane->session->tenant->catching : &lane->session->catching;

        if (catching->round != lane->session->daemon->clients.round && tenant->catcher != lane) {
                *catching = (struct pw_catching){ lane->session->daemon->clients.round, UINT64_MAX };
                make_due(lane, wide);
        } else if (catching->runs == tenant->runs) {
                return false;
        }
        if (read_due(lane, wide, now_us))
                return true;
        if (!is_behind(lane->session))
                catching->runs = tenant->runs;
        return false;
}

/* A thread may drop, refer to or run on what another thread's run made, or another session's: the RUN in that one's lane was
 * published before, so it is there to be read, and so is all that it depends on. While what is there of those lanes is read, and
 * not what they write meanwhile, one that meets such a name itself stops, and the others go on, first those of the session, then of
 * all its tenant's, until the record of `lane` names nothing of the kind any more. False: the session ended, or the lane is one of
 * those, or its tenant's part of the round is read: then it goes on in the next, and nobody else of the tenant catches up, or reads
 * what came since, before it is through; so it has an end however much they write. */
static bool catch_up(struct pw_dlane *lane, struct pw_cell cell, uint64_t now_us)
{
        struct pw_dsession *session = lane->session;
        struct pw_daemon *daemon = session->daemon;
        struct pw_tenant *tenant = session->tenant;
        bool over = false;
        uint32_t owner;

        if (daemon->clients.catching_up || (tenant->catcher && tenant->catcher != lane && !session->operator_))
                return false;
        daemon->clients.catching_up = true;
        while (!session->ended && !over && (owner = names_unclaimed(lane, cell, lane->due))) {
                bool wide = owner != session->number || tenant->catching.round == daemon->clients.round;
                bool read = (!wide && go_on(lane, false, now_us)) || go_on(lane, true, now_us);

                over = is_behind(session);
                if (read || over)
                        continue;
                /* All lanes were looked at since it was published, or it has had its turn: nobody is to make it. */
                if (lane->seen < tenant->scans || lane->looked == daemon->clients.round) {
                        tenant->settled = (struct pw_settled){ tenant->scans, tenant->runs };
                        break;
                }
                lane->looked = daemon->clients.round;
                tenant->catching = (struct pw_catching){ daemon->clients.round, UINT64_MAX };
                make_due(lane, true);
        }
        daemon->clients.catching_up = false;
        if (over)
                make_hot(lane);
        if (over || tenant->catcher == lane)
                tenant->catcher = over ? lane : NULL;
        return !session->ended && !over;
}

#define LATER UINT32_MAX

/* One record at the head of the ring, of what is due. Returns its cells; 0: the session broke the protocol; LATER: it stays where
 * it is. */
static uint32_t take_record(struct pw_dlane *lane, uint64_t now_us)
{
        struct pw_dsession *session = lane->session;
        struct pw_cell cell = pw_ring_peek(&lane->reader, 0);
        enum pw_status status;

        if (names_unclaimed(lane, cell, lane->due) && !is_settled(lane) && !catch_up(lane, cell, now_us))
                return LATER;

        switch (pw_cell_top(cell)) {
        case PW_RING_DROP:
                status = pw_store_drop(session->daemon->store, session->number, cell, now_us);
                return status == PW_OK ? 1 : 0;
        case PW_RING_REF:
                status = pw_store_ref(session->daemon->store, session->number, cell, now_us);
                return status == PW_OK ? 1 : 0;
        case PW_RING_RUN:
                return pw_submit_record(lane, cell, lane->due, now_us);
        default:
                return 0;
        }
}

/* So many cells of it were read: they may be the last that its session's pass waits for. */
static void pass_by(struct pw_dlane *lane, uint32_t cells)
{
        if (!lane->mark)
                return;
        lane->mark -= (uint32_t)pw_min_u64(cells, lane->mark);
        lane->session->marked -= !lane->mark;
}

/* Read what is due of it, or up to a record that has to stay, or the tenant's part of the round. Returns the records read. */
static uint32_t read_cells(struct pw_dlane *lane, uint64_t now_us)
{
        struct pw_dsession *session = lane->session;
        uint32_t records = 0, cells = 0;

        while (lane->due && !session->ended && has_part(session)) {
                uint32_t taken = take_record(lane, now_us);

                if (taken == LATER)
                        break;
                if (!taken) {
                        pw_session_end(session, "a record in its ring that cannot be");
                        break;
                }
                pw_ring_consume(&lane->reader, taken);
                lane->due -= taken;
                spend(session, taken);
                cells += taken;
                records++;
        }
        pass_by(lane, cells);
        return records;
}

/* Is due what was so when somebody began to catch up on it? */
static bool is_caught(const struct pw_dsession *session)
{
        uint64_t round = session->daemon->clients.round;

        return session->catching.round == round || session->tenant->catching.round == round ||
               (session->tenant->catcher && !session->operator_);
}

/* What is due of it: what is there now, or what a pass that is under way is to read of it; after others have caught up on it, what
 * was there then; and while that is settled, that first. False: the session ended. */
static bool make_lane_due(struct pw_dlane *lane)
{
        struct pw_dsession *session = lane->session;
        uint32_t cells = lane->mark;

        if (is_caught(session))
                return true;
        if (!session->marked && !pw_ring_available(&lane->reader, &cells)) {
                pw_session_end(session, "impossible tail in its ring");
                return false;
        }
        if (lane->due && is_settled(lane))
                return true;
        if (cells > lane->due)
                lane->seen = session->tenant->scans;
        lane->due = cells;
        return true;
}

/* Returns the records read. */
static uint32_t read_lane(struct pw_dlane *lane, uint64_t now_us)
{
        struct pw_dsession *session = lane->session;

        if (session->ended)
                return 0;
        begin_part(session);
        if (session->tenant->catcher == lane && !names_unclaimed(lane, pw_ring_peek(&lane->reader, 0), lane->due))
                session->tenant->catcher = NULL;
        return make_lane_due(lane) ? read_cells(lane, now_us) : 0;
}

/* Is it wanted back at once, what it gives back? */
static bool is_hungry(const struct pw_dsession *session)
{
        const struct pw_daemon *daemon = session->daemon;

        return daemon->clients.runs_deferred || (daemon->clients.hungry && pw_store_waits_for_room(daemon->store, session->number));
}

static void make_hot(struct pw_dlane *lane)
{
        lane->quiet = 0;
        if (!pw_list_empty(&lane->hot))
                return;
        pw_ring_wake(&lane->reader);
        pw_list_append(&lane->session->daemon->clients.hot, &lane->hot);
}

void pw_lanes_rung(struct pw_dsession *session)
{
        uint32_t count = lane_count(session), cells;

        if (session->role != PW_ROLE_CLIENT)
                return;
        session->wish = pw_lanes_pass(session);
        /* Who rang counts on being watched, also if a scan has read its records meanwhile. */
        for (uint32_t i = 0; i < count; i++) {
                struct pw_dlane *lane = session->lanes[i];

                if (!pw_ring_available(&lane->reader, &cells) || cells || atomic_load(&lane->reader.ring->watch) == PW_RING_WATCHED)
                        make_hot(lane);
        }
        pw_store_rung(session->daemon->store, session->number, pw_now_us());
        session->daemon->loop.more = true;
}

/* What its lanes have now is to be read. */
static void begin_pass(struct pw_dsession *session)
{
        uint32_t count = lane_count(session), cells;

        session->pass++;
        spend(session, count);
        for (uint32_t i = 0; i < count && !session->ended; i++) {
                if (!pw_ring_available(&session->lanes[i]->reader, &cells)) {
                        pw_session_end(session, "impossible tail in its ring");
                } else {
                        session->lanes[i]->mark = cells;
                        session->marked += cells != 0;
                }
        }
}

/* Go on with its pass, or begin one. Returns the records read. */
static uint32_t go_on_passing(struct pw_dsession *session)
{
        uint64_t now_us = pw_now_us();
        uint32_t records = 0;

        begin_part(session);
        if (!session->marked)
                begin_pass(session);
        for (uint32_t i = 0; i < session->lane_count && session->marked && !session->ended; i++)
                if (session->lanes[i]->mark)
                        records += read_lane(session->lanes[i], now_us);
        for (uint32_t i = 0; i < session->lane_count && session->marked && !session->ended; i++)
                if (session->lanes[i]->mark)
                        make_hot(session->lanes[i]);
        if (records)
                session->daemon->loop.more = true;
        return records;
}

static bool is_through(const struct pw_dsession *session, uint64_t pass)
{
        return session->role != PW_ROLE_CLIENT || session->ended || session->pass > pass ||
                (session->pass == pass && !session->marked);
}

bool pw_lanes_read_quantum(struct pw_dsession *session, uint64_t pass)
{
        for (uint32_t i = 0; i < 2 && !is_through(session, pass); i++) {
                begin_part(session);
                if (!has_part(session))
                        break;
                go_on_passing(session);
        }
        return is_through(session, pass);
}

bool pw_lanes_read(struct pw_dsession *session, uint64_t pass)
{
        session->daemon->clients.round++;
        return pw_lanes_read_quantum(session, pass);
}

uint32_t pw_lanes_drain(struct pw_dsession *session)
{
        uint32_t records = 0;

        session->daemon->clients.round += !session->dead; /* then it was read: process.c */
        for (uint64_t pass = pw_lanes_pass(session), i = 0; i < 2 && !is_through(session, pass); i++)
                records += go_on_passing(session);
        return records;
}

/* Who was read stands behind the others: where a tenant has more than its part of a round, its lanes take turns. */
static void stand_behind(struct pw_dlane *lane)
{
        struct pw_list *hot = &lane->session->daemon->clients.hot;

        lane->quiet = 0;
        lane->turned = lane->session->daemon->clients.round;
        if (lane->hot.next == hot)
                return;
        pw_list_remove(&lane->hot);
        pw_list_append(hot, &lane->hot);
}

bool pw_lanes_turn(struct pw_daemon *daemon)
{
        uint64_t now_us = pw_now_us();
        struct pw_dlane *lane;
        bool any = false;

        daemon->clients.round++;
        pw_list_each(&daemon->clients.hot, lane, struct pw_dlane, hot) {
                if (lane->turned == daemon->clients.round)
                        break; /* it and all behind it were read */
                if (lane->session->ended) {
                        pw_list_remove(&lane->hot);
                } else if (is_behind(lane->session)) {
                        any = true;
                } else if (read_lane(lane, now_us)) {
                        stand_behind(lane);
                        any = true;
                } else if (!lane->session->ended && ++lane->quiet >= QUIET_TURNS && /* reading it may have ended it */
                           pw_ring_sleep(&lane->reader, is_hungry(lane->session))) {
                        pw_list_remove(&lane->hot);
                }
        }
        return any;
}

/* Those of its lanes that rest ask for the doorbell again, as `hungry` has it; those with unread records are hot. */
static void look_at(struct pw_dsession *session, bool hungry)
{
        uint32_t count = session->ended || session->role != PW_ROLE_CLIENT ? 0 : lane_count(session);

        for (uint32_t i = 0; i < count; i++)
                if (pw_list_empty(&session->lanes[i]->hot) && !pw_ring_sleep(&session->lanes[i]->reader, hungry))
                        make_hot(session->lanes[i]);
}

void pw_lanes_hungry(struct pw_daemon *daemon)
{
        struct pw_dsession *session;

        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));)
                if (daemon->clients.runs_deferred || pw_store_waits_for_room(daemon->store, session->number))
                        look_at(session, true);
}

void pw_lanes_look(struct pw_daemon *daemon)
{
        struct pw_dsession *session;

        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));)
                look_at(session, is_hungry(session));
        daemon->loop.more = true;
}

bool pw_lanes_sleep(struct pw_daemon *daemon)
{
        struct pw_dlane *lane;

        pw_list_each(&daemon->clients.hot, lane, struct pw_dlane, hot) {
                if (!pw_ring_sleep(&lane->reader, is_hungry(lane->session)))
                        return false;
                pw_list_remove(&lane->hot);
        }
        return true;
}
