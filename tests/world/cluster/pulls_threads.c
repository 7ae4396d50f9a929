/* Threads and bulk streams of hosts that pull: they take their time, report late, and do what they were told to stop for a while
 * more. */
#include "tests/world/cluster/pulls.h"

#define GARBAGE UINT64_C(0xdeadbeef)

static struct job *job_new(uint32_t kind, uint32_t host, uint32_t peer, uint32_t stream)
{
        struct job *job = calloc(1, sizeof *job);

        assert_non_null(job);
        *job = (struct job){ .kind = kind, .host = host, .peer = peer, .stream = stream,
                             .pair_life = pulls_pair(host, peer)->life };
        pw_list_append(&world->jobs, &job->link);
        return job;
}

static void job_free(struct job *job)
{
        pw_list_remove(&job->link);
        free(job);
}

/* Mostly soon, sometimes late, seldom after a minute. */
static uint64_t later(uint32_t usual_us)
{
        if (world->calm)
                return world->now_us + 1000 + pulls_below(usual_us);
        switch (pulls_below(60)) {
        case 0: return world->now_us + pulls_below(12 * SECOND);
        case 1: return world->now_us + pulls_below(4) * 20 * SECOND;
        default: return world->now_us + 1000 + pulls_below(usual_us);
        }
}
static uint64_t soon(void) { return world->now_us + 1000 + pulls_below(world->calm ? 5000 : 3 * SECOND); }

/* --- who receives ----------------------------------------------------------------------------------------------------------- */

void pulls_receive(uint32_t host, const struct pw_pulls_action *action)
{
        struct job *job = job_new(RECEIVES, host, action->host, action->stream);

        job->room = action->place;
        job->chunk = action->chunk;
        job->ask = action->ask;
        pulls_must(job->room->pull_has && job->room->host == host, "a thread receives into a room that is let go");
        pulls_must(!job->room->writers[job->chunk]++, "a range has two writers");
        pulls_must(!job->room->is_ready, "a room that readers have is written");
        job->room->content[job->chunk] = GARBAGE;
}

void pulls_stop_receiving(uint32_t host, uint64_t ask)
{
        struct job *job;

        pw_list_each(&world->jobs, job, struct job, link)
                if (job->kind == RECEIVES && job->host == host && job->ask == ask) {
                        pulls_must(!job->is_told, "a thread is told to stop twice");
                        job->is_told = true;
                        if (!job->is_writing || pulls_below(2)) {
                                job->at_us = soon();
                                job->status = PW_CANCELLED;
                        }
                        return;
                }
        pulls_must(false, "who does not receive is told to stop");
}

static void report_received(struct job *job)
{
        struct room *room = job->room;
        struct pw_pulls *pulls = world->hosts[job->host].pulls;
        uint64_t ask = job->ask;
        enum pw_status status = job->status;
        uint32_t host = job->host;

        pulls_must(room->pull_has, "a room is let go while a thread writes it");
        pulls_must(room->writers[job->chunk] == 1, "a range has two writers");
        room->writers[job->chunk]--;
        room->content[job->chunk] = status == PW_OK ? job->value : GARBAGE;
        job_free(job);
        pw_pulls_reported(pulls, ask, status, world->now_us);
        pulls_act(host);
}

/* Bytes are there: whose they are, if anybody wants them. */
static void arrives(struct job *travel)
{
        struct job *job;

        pw_list_each(&world->jobs, job, struct job, link) {
                if (job->kind != RECEIVES || job->host != travel->host || job->ask != travel->ask || job->at_us)
                        continue;
                job->is_writing = true;
                job->value = travel->value;
                job->status = travel->is_corrupt ? PW_PROTOCOL : PW_OK;
                job->at_us = later(20000);
                break;
        }
        job_free(travel);
}

/* --- who sends -------------------------------------------------------------------------------------------------------------- */

static void must_be_value(const struct job *job, const char *what)
{
        pulls_must(job->room->offer_has && job->room->content[job->chunk] == pulls_value(job->room->object, job->chunk) &&
                   !job->room->writers[job->chunk], what);
}

static bool is_slot_used(const struct job *but, uint32_t slot)
{
        struct job *job;

        pw_list_each(&world->jobs, job, struct job, link)
                if (job != but && job->host == but->host && job->peer == but->peer && job->slot == slot &&
                    (job->kind == STAGES || (job->kind == SENDS && job->is_staged)))
                        return true;
        return false;
}

void pulls_send(uint32_t host, const struct pw_pull_source_action *action)
{
        bool stages = action->kind == PW_PULL_SOURCE_STAGE;
        struct job *job = job_new(stages ? STAGES : SENDS, host, action->host, action->stream);

        pulls_must(!(stages || action->is_staged) || !is_slot_used(job, action->slot), "two have one place of a reserve");
        job->number = action->send;
        job->ask = action->ask;
        job->chunk = action->chunk;
        job->slot = action->slot;
        job->is_staged = action->is_staged;
        job->at_us = later(stages ? 5000 : 30000);
        job->status = PW_OK;
        if (stages || !job->is_staged) {
                job->room = action->place;
                job->room->readers++;
                must_be_value(job, "what is sent is not what was put");
        }
        if (stages) {
                world->staged++;
                if (!world->calm && pulls_below(40) == 0)
                        job->status = PW_DEVICE_LOST;
        } else if (job->is_staged) {
                job->value = world->hosts[host].slot_values[action->host][action->slot];
        }
        world->sends += !stages;
        world->sends_of[host] += !stages;
}

void pulls_stop_sending(uint32_t host, uint64_t send)
{
        struct job *job;

        pw_list_each(&world->jobs, job, struct job, link)
                if ((job->kind == SENDS || job->kind == STAGES) && job->host == host && job->number == send) {
                        job->is_told = true;
                        job->at_us = pw_min_u64(job->at_us, soon());
                        if (job->status == PW_OK && pulls_below(2))
                                job->status = PW_CANCELLED;
                        return;
                }
        pulls_must(false, "who does not send is told to stop");
}

static void travel(const struct job *sent)
{
        struct job *job;

        if (pulls_pair(sent->host, sent->peer)->life != sent->pair_life)
                return;
        job = job_new(TRAVELS, sent->peer, sent->host, sent->stream);
        job->ask = sent->ask;
        job->chunk = sent->chunk;
        job->value = sent->value;
        job->is_corrupt = !world->calm && pulls_below(25) == 0;
        world->corrupt += job->is_corrupt;
        job->at_us = later(40000);
}

static void report_sent(struct job *job)
{
        struct host *at = &world->hosts[job->host];
        uint32_t host = job->host;
        struct job was = *job;

        if (job->room) {
                must_be_value(job, "a room is let go, or written, while a thread sends it");
                job->room->readers--;
                was.value = job->status == PW_OK ? job->room->content[job->chunk] : GARBAGE;
        }
        job_free(job);
        if (was.kind == STAGES) {
                at->slot_values[was.peer][was.slot] = was.value;
                pw_pull_source_staged(at->source, was.number, was.status);
        } else {
                if (was.status == PW_OK)
                        travel(&was);
                pw_pull_source_sent(at->source, was.number, was.status);
        }
        pulls_act(host);
}

/* --- streams ---------------------------------------------------------------------------------------------------------------- */

/* What goes over them is lost; threads see it sooner or later. */
static void shut(uint32_t a, uint32_t b, uint32_t stream)
{
        struct job *job;

        pw_list_each(&world->jobs, job, struct job, link) {
                bool is_of = (job->host == a && job->peer == b) || (job->host == b && job->peer == a);

                if (!is_of || (stream < STREAMS && job->stream != stream) || job->kind == STAGES)
                        continue;
                if (job->kind == TRAVELS) {
                        job_free(job);
                        continue;
                }
                job->at_us = job->at_us ? pw_min_u64(job->at_us, soon()) : soon();
                if (job->status == PW_OK)
                        job->status = PW_SYSTEM;
        }
}

void pulls_check_told(uint32_t host, uint32_t peer)
{
        struct job *job;

        pw_list_each(&world->jobs, job, struct job, link)
                pulls_must(job->kind == TRAVELS || job->host != host || job->peer != peer || job->is_told,
                           "a thread goes on for an ended term");
}

void pulls_shut_streams(uint32_t a, uint32_t b)
{
        pulls_pair(a, b)->life++;
        shut(a, b, STREAMS);
}

void pulls_break_stream(uint32_t a, uint32_t b, uint32_t stream) { shut(a, b, stream); }

void pulls_forget_threads(uint32_t host)
{
        struct job *job;

        pw_list_each(&world->jobs, job, struct job, link)
                if (job->host == host)
                        job_free(job);
}

void pulls_threads_turn(void)
{
        bool again;

        do {
                struct job *job;

                again = false;
                pw_list_each(&world->jobs, job, struct job, link) {
                        bool is_stopped = world->hosts[job->host].stopped_until_us > world->now_us;

                        if (!job->at_us || job->at_us > world->now_us || is_stopped)
                                continue;
                        again = true;
                        if (job->kind == TRAVELS) {
                                arrives(job);
                        } else if (job->kind == RECEIVES) {
                                report_received(job);
                        } else {
                                report_sent(job);
                        }
                        break;
                }
        } while (again);
}
