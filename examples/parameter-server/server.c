/* The server: weights, and who makes gradients for them. */
#include "examples/parameter-server/server.h"

#include "examples/common/failure.h"
#include "examples/common/losses.h"
#include "examples/digits/model.h"
#include "examples/parameter-server/parts.h"
#include "examples/parameter-server/seat.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct server {
        const struct options *options;
        struct data data;
        struct model model;
        struct parts parts;
        struct schedule schedule;
        struct losses losses; /* of each step: what its parts that are done add to its mean */
        struct pw_session *session;
        char run[NOTE_NAME_BYTES];
        struct seat *seats;
        struct pw_future **futures; /* room for one of each worker */
        uint32_t seat_count, lost_count;
        double *weights; /* [features, classes] */
        double *coming;  /* as many: what the weights change by when all parts of a step are there; only in synchronous training */
        float *rows;     /* as many, on their way to a worker */
};

/* --- losing a worker ---------------------------------------------------------------------------------------------- */

/* Its part goes to another one. `why`: what the store says of it. */
static void lose(struct server *server, struct seat *seat, const char *why)
{
        printf("%sworker %u is lost in step %u: %s\n", server->losses.progress.terminal ? "\n" : "", seat->number,
               seat->state == SEAT_BUSY ? seat->turn.step : server->schedule.oldest, why);
        fflush(stdout);
        if (seat->state == SEAT_BUSY)
                schedule_return(&server->schedule, seat->turn);
        seat_leave(seat, server->session, server->run);
        server->lost_count++;
}

/* What a call about a worker's objects gave: the worker is lost by it, the server only if its own daemon is gone. */
static enum pw_status judge(struct server *server, struct seat *seat, enum pw_status status, const struct pw_error *err)
{
        if (status == PW_OK || status == PW_DAEMON_GONE)
                return status;
        lose(server, seat, err->text);
        return PW_OK;
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static struct part *part_of(const struct server *server, struct turn turn)
{
        return &server->parts.part[turn.step % server->parts.batches * server->parts.per_batch + turn.part];
}

/* The rows of the weights that `part` touches. */
static enum pw_status put_rows(struct server *server, const struct part *part, struct pw_future **ret_rows, struct pw_error *err)
{
        size_t classes = server->data.classes;
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_DIMS(part->touched, classes) };
        float *out = server->rows;

        for (uint64_t t = 0; t < part->touched; t++)
                for (size_t c = 0; c < classes; c++)
                        *out++ = (float)server->weights[part->features[t] * classes + c];
        return pw_put(server->session, server->rows, part->touched * classes * sizeof *out, &params, ret_rows, err);
}

/* One step down the gradient of `part`. In synchronous training nobody sees it before the others of its step: a part that is made
 * late, as one of a lost worker is, has the weights that the others had. */
static void take_rows(struct server *server, const struct part *part, const float *gradient)
{
        double step = (double)server->options->rate / server->options->batch;
        double *weights = server->options->staleness ? server->weights : server->coming;
        size_t classes = server->data.classes;

        for (uint64_t t = 0; t < part->touched; t++)
                for (size_t c = 0; c < classes; c++)
                        weights[part->features[t] * classes + c] -= step * *gradient++;
}

static void finish_turn(struct server *server, struct turn turn)
{
        schedule_finish(&server->schedule, turn);
        if (server->schedule.oldest == server->losses.read)
                return;
        server->losses.read = server->schedule.oldest;
        for (size_t i = 0; i < server->data.features * server->data.classes; i++) {
                server->weights[i] += server->coming[i];
                server->coming[i] = 0;
        }
}

/* --- tasks and answers -------------------------------------------------------------------------------------------- */

/* Something to do for a worker that has nothing, if there is something. */
static enum pw_status hand_out(struct server *server, struct seat *seat, struct pw_error *err)
{
        if (!schedule_next(&server->schedule, &seat->turn))
                return PW_OK;
        const struct part *part = part_of(server, seat->turn);
        struct task_note note = { .images = pw_future_id(part->images), .labels = pw_future_id(part->labels), .turn = seat->turn,
                                  .place = (uint32_t)(part - server->parts.part), .places = server->parts.count };
        enum pw_status status = put_rows(server, part, &seat->weights, err);

        return status == PW_OK ? seat_tell(seat, server->session, &note, err) : status;
}

/* The gradient and the loss of what `seat` was to do; nothing is taken before all of it is here. */
static enum pw_status take_answer(struct server *server, struct seat *seat, const struct answer *answer, struct pw_error *err)
{
        const struct part *part = part_of(server, seat->turn);
        struct pw_view gradient = { .data = NULL }, loss = { .data = NULL };
        uint64_t bytes = part->touched * server->data.classes * sizeof(float);
        int64_t patience_us = server->options->patience * INT64_C(1000000);
        enum pw_status status = pw_get(answer->gradient, patience_us, &gradient, err);

        if (status == PW_OK)
                status = pw_get(answer->loss, patience_us, &loss, err);
        if (status == PW_OK && (gradient.bytes != bytes || loss.bytes != sizeof(float)))
                status = failure(err, PW_PROTOCOL, "its gradient", "is not of the rows that it was sent");
        if (status == PW_OK) {
                take_rows(server, part, gradient.data);
                server->losses.mean[seat->turn.step] += *(const float *)loss.data / server->losses.rows;
        }
        pw_view_done(&gradient);
        pw_view_done(&loss);
        return status;
}

/* Hear `seat`, if it has said something. Errors: the server cannot go on. */
static enum pw_status hear(struct server *server, struct seat *seat, struct pw_error *err)
{
        struct answer answer;

        if (seat->state == SEAT_LOST || pw_poll(seat->answer) == PW_NOT_READY)
                return PW_OK;
        enum pw_status status = seat_hear(seat, server->session, &answer, err);
        if (status != PW_OK)
                return judge(server, seat, status, err);
        status = take_answer(server, seat, &answer, err);
        if (status == PW_OK) {
                finish_turn(server, seat->turn);
                seat_answered(seat, &answer);
        }
        answer_done(&answer);
        return judge(server, seat, status, err);
}

/* --- training ----------------------------------------------------------------------------------------------------- */

/* The next notes of all workers that are not lost. */
static uint32_t gather_futures(struct server *server)
{
        uint32_t count = 0;

        for (uint32_t k = 0; k < server->seat_count; k++)
                if (server->seats[k].state != SEAT_LOST)
                        server->futures[count++] = server->seats[k].answer;
        return count;
}

/* Nobody says anything: the rest waits for those who have something to do. */
static void give_up(struct server *server)
{
        char why[80];

        snprintf(why, sizeof why, "it has not answered for %u s (--patience)", server->options->patience);
        for (uint32_t k = 0; k < server->seat_count; k++)
                if (server->seats[k].state == SEAT_BUSY)
                        lose(server, &server->seats[k], why);
}

static enum pw_status turn_once(struct server *server, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        for (uint32_t k = 0; k < server->seat_count && status == PW_OK; k++)
                if (server->seats[k].state == SEAT_IDLE)
                        status = hand_out(server, &server->seats[k], err);
        if (status != PW_OK)
                return status;
        uint32_t count = gather_futures(server);
        if (!count)
                return failure(err, PW_PRODUCER_LOST, server->run, "no worker is left");
        status = pw_wait(server->futures, count, 1, server->options->patience * INT64_C(1000000), NULL, err);
        if (status == PW_DEADLINE) {
                give_up(server);
                return PW_OK;
        }
        for (uint32_t k = 0; k < server->seat_count && status == PW_OK; k++)
                status = hear(server, &server->seats[k], err);
        return status;
}

/* Whoever wants to do something in the middle of a training is told when that is. */
static void tell_half(const struct server *server, uint32_t before)
{
        uint32_t half = (server->schedule.steps + 1) / 2;

        if (server->options->half_fd == OPTIONS_NO_FD || before >= half || server->schedule.oldest < half)
                return;
        if (dprintf((int)server->options->half_fd, "half\n") < 0)
                fprintf(stderr, "parameter-server: --half-fd: nothing can be written there\n");
}

static enum pw_status train(struct server *server, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        progress_start(&server->losses.progress, server->schedule.steps);
        while (server->schedule.oldest < server->schedule.steps && status == PW_OK) {
                uint32_t before = server->schedule.oldest;
                status = turn_once(server, err);
                if (server->schedule.oldest > before)
                        progress_show(&server->losses.progress, server->schedule.oldest,
                                      server->losses.mean[server->schedule.oldest - 1]);
                tell_half(server, before);
        }
        return status;
}

/* --- before and after --------------------------------------------------------------------------------------------- */

static enum pw_status prepare(struct server *server, struct pw_error *err)
{
        const struct options *options = server->options;
        char why[200], id[PW_ID_TEXT_BYTES];

        if (data_read(options->data, &server->data, why, sizeof why))
                return failure(err, PW_INVALID, options->data, why);
        if (options->levels && parts_widen(&server->data, options->levels))
                return failure(err, PW_NO_MEMORY, options->data, "out of memory");
        server->model = model_of(&server->data, 0);
        server->weights = calloc(server->data.features * server->data.classes, sizeof *server->weights);
        server->coming = calloc(server->data.features * server->data.classes, sizeof *server->coming);
        server->rows = calloc(1, server->model.bytes[0]);
        server->seats = calloc(options->workers, sizeof *server->seats);
        server->futures = calloc(options->workers, sizeof(struct pw_future *));
        if (!server->weights || !server->coming || !server->rows || !server->seats || !server->futures)
                return failure(err, PW_NO_MEMORY, options->data, "out of memory");
        enum pw_status status = pw_connect(options->socket, &server->session, err);
        if (status == PW_OK)
                status = parts_put(&server->parts, server->session, &server->data, options, err);
        if (status != PW_OK)
                return status;
        uint32_t steps = server->parts.batches * options->epochs;
        if (!schedule_start(&server->schedule, steps, options->workers, options->staleness))
                return failure(err, PW_NO_MEMORY, options->data, "out of memory");
        /* The id of an object is never used again, on any host. */
        pw_id_format(pw_future_id(server->parts.part[0].images), id);
        if (options->run)
                snprintf(server->run, sizeof server->run, "%s", options->run);
        else
                snprintf(server->run, sizeof server->run, "parameter-server/%s", id);
        return losses_start(&server->losses, steps, options->batch, err);
}

static void print_plan(const struct server *server)
{
        printf("%zu rows to train on, %zu for the test, %zu features, %zu classes\n"
               "%u steps of %u rows in %u parts; a part touches %.0f of the %zu rows of the weights\n"
               "server is process %d\n",
               server->data.train_rows, server->data.rows - server->data.train_rows, server->data.features - 1,
               server->data.classes, server->schedule.steps, server->options->batch, server->parts.per_batch,
               server->parts.touched, server->data.features, (int)getpid());
        for (uint32_t k = 0; k < server->seat_count; k++)
                if (server->seats[k].pid)
                        printf("worker %u is process %d\n", k, (int)server->seats[k].pid);
        fflush(stdout);
}

/* All have the patience together; who is not there then is lost. */
static enum pw_status await_workers(struct server *server, struct pw_error *err)
{
        int64_t patience_us = server->options->patience * INT64_C(1000000);
        enum pw_status status = PW_OK;

        for (uint32_t k = 0; k < server->seat_count && status == PW_OK; k++) {
                status = seat_await(&server->seats[k], server->session, server->run, patience_us, err);
                patience_us = status == PW_OK ? patience_us : 0;
                status = judge(server, &server->seats[k], status, err);
        }
        return status;
}

static enum pw_status begin(struct server *server, struct pw_error *err)
{
        const struct options *options = server->options;
        enum pw_status status = prepare(server, err);

        while (status == PW_OK && server->seat_count < options->workers) {
                struct seat *seat = &server->seats[server->seat_count];
                seat->number = server->seat_count;
                status = seat_offer(seat, server->session, server->run, err);
                server->seat_count += status == PW_OK;
                if (status == PW_OK && seat->number < options->started)
                        status = start_worker(options, server->run, seat->number, &seat->pid, err);
        }
        if (status != PW_OK)
                return status;
        print_plan(server);
        return await_workers(server, err);
}

/* Workers that are told so end, and what they would have said next ends with them. */
static enum pw_status dismiss(struct server *server, struct pw_error *err)
{
        const struct task_note last = { .is_last = 1 };
        enum pw_status status = PW_OK;

        for (uint32_t k = 0; k < server->seat_count && status == PW_OK; k++)
                if (server->seats[k].state != SEAT_LOST)
                        status = seat_tell(&server->seats[k], server->session, &last, err);
        uint32_t count = gather_futures(server);
        if (status != PW_OK || !count)
                return status;
        status = pw_wait(server->futures, count, count, server->options->patience * INT64_C(1000000), NULL, err);
        return status == PW_DEADLINE ? PW_OK : status;
}

static void print_end(struct server *server)
{
        size_t count = server->data.features * server->data.classes;
        float *const weights[MODEL_LAYERS_MAX] = { server->rows };

        for (size_t i = 0; i < count; i++)
                server->rows[i] = (float)server->weights[i];
        if (server->lost_count)
                printf("%u of %u workers were lost, the others did what these had to do\n", server->lost_count, server->seat_count);
        printf("at most %u steps ahead of the last\naccuracy %.3f on %zu rows never trained on\n", server->schedule.widest,
               model_accuracy(&server->model, weights, &server->data), server->data.rows - server->data.train_rows);
}

static void end(struct server *server)
{
        for (uint32_t k = 0; k < server->seat_count; k++)
                seat_leave(&server->seats[k], server->session, server->run);
        parts_done(&server->parts);
        losses_done(&server->losses);
        schedule_done(&server->schedule);
        pw_close(server->session);
        free(server->seats);
        free(server->futures);
        free(server->weights);
        free(server->coming);
        free(server->rows);
        data_done(&server->data);
}

enum pw_status server_run(const struct options *options, struct pw_error *err)
{
        struct server server = { .options = options };
        enum pw_status status = begin(&server, err);

        if (status == PW_OK)
                status = train(&server, err);
        if (status == PW_OK)
                status = dismiss(&server, err);
        if (status == PW_OK)
                status = losses_write(&server.losses, options->loss_file, err);
        if (status == PW_OK)
                print_end(&server);
        end(&server);
        return status;
}
