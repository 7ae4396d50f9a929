/* A worker: gradients, as long as somebody asks for them. */
#include "examples/parameter-server/worker.h"

#include "examples/common/failure.h"
#include "examples/parameter-server/note.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What is kept of a part from its first task on: its rows on this host, and the program for a part of that shape. */
struct work {
        struct pw_future *images, *labels;
        struct pw_program *program;
};

struct worker {
        const struct options *options;
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_future *task;     /* the note that comes next */
        struct pw_future *answer;   /* the note that is to be filled next, in `room` */
        struct answer_note *room;
        bool is_named;              /* its first answer, for the server to find */
        struct pw_future *said;     /* the answer before; with it gradient and loss that it names: until the server has answered */
        struct pw_future *results[2];
        struct work *works;
        uint32_t places;
};

/* --- notes -------------------------------------------------------------------------------------------------------- */

/* The note that is to be filled next. */
static enum pw_status make_answer(struct worker *worker, struct pw_error *err)
{
        void *room;
        enum pw_status status = pw_create(worker->session, sizeof(struct answer_note), NULL, &worker->answer, &room, err);

        if (status == PW_OK)
                worker->room = room;
        return status;
}

/* Both first notes are known by name: the server's is there before this process, or never comes. */
static enum pw_status come(struct worker *worker, struct pw_error *err)
{
        const struct options *options = worker->options;
        struct pw_slice_params slice = { .device_count = options->devices };
        char name[NOTE_NAME_BYTES];
        enum pw_status status = pw_connect(options->socket, &worker->session, err);

        if (status == PW_OK)
                status = pw_slice_open(worker->session, &slice, &worker->slice, err);
        if (status == PW_OK)
                status = pw_lookup(worker->session, note_name(name, options->run, "task", options->worker),
                                   options->patience * INT64_C(1000000), &worker->task, err);
        if (status == PW_OK)
                status = make_answer(worker, err);
        if (status == PW_OK)
                status = pw_name(worker->answer, note_name(name, options->run, "answer", options->worker), err);
        worker->is_named = status == PW_OK;
        return status;
}

/* The name of the first answer has served once the server has said something. On one host the server has let it go by then; a name
 * that another host has bound it cannot let go. */
static void unname(struct worker *worker)
{
        char name[NOTE_NAME_BYTES];

        if (!worker->is_named)
                return;
        worker->is_named = false;
        note_name(name, worker->options->run, "answer", worker->options->worker);
        if (pw_unname(worker->session, name, NULL) != PW_OK)
                return; /* it is gone */
}

static void let_go(struct pw_future **future)
{
        pw_unref(*future);
        *future = NULL;
}

/* Wait for what is to be done. The server has opened by then what the last answer named, and the note after this one is opened
 * before this one is answered: so each is there for as long as anybody needs it. */
static enum pw_status read_task(struct worker *worker, struct task_note *ret_task, struct pw_error *err)
{
        struct pw_view view;
        enum pw_status status = pw_get(worker->task, PW_FOREVER, &view, err);

        if (status != PW_OK)
                return status;
        if (view.bytes == sizeof *ret_task)
                memcpy(ret_task, view.data, sizeof *ret_task);
        else
                status = failure(err, PW_PROTOCOL, worker->options->run, "what is under this name is no task");
        pw_view_done(&view);
        unname(worker);
        let_go(&worker->said);
        let_go(&worker->results[0]);
        let_go(&worker->results[1]);
        let_go(&worker->task);
        return status == PW_OK && !ret_task->is_last ? pw_open(worker->session, ret_task->next, &worker->task, err) : status;
}

static enum pw_status say(struct worker *worker, const struct task_note *task, struct pw_error *err)
{
        struct answer_note *room = worker->room;

        worker->said = worker->answer;
        worker->answer = NULL;
        enum pw_status status = make_answer(worker, err);
        if (status != PW_OK)
                return status;
        *room = (struct answer_note){ .next = pw_future_id(worker->answer), .gradient = pw_future_id(worker->results[0]),
                                      .loss = pw_future_id(worker->results[1]), .turn = task->turn };
        return pw_seal(worker->said, err);
}

/* --- work --------------------------------------------------------------------------------------------------------- */

/* An object of the server's as one of this host, where runs take it from. */
static enum pw_status bring(struct worker *worker, struct pw_id id, struct pw_future **ret_here, struct pw_error *err)
{
        struct pw_future *there;
        struct pw_view view;
        enum pw_status status = pw_open(worker->session, id, &there, err);

        if (status != PW_OK)
                return status;
        status = pw_get(there, PW_FOREVER, &view, err);
        pw_unref(there);
        if (status != PW_OK)
                return status;
        struct pw_put_params params = { .dtype = view.dtype, .dims = view.dims };
        status = pw_put(worker->session, view.data, view.bytes, &params, ret_here, err);
        pw_view_done(&view);
        return status;
}

/* The gradient of rows that are spread over the devices, summed over these. */
static enum pw_status trace(struct worker *worker, struct work *work, struct pw_future *weights, struct pw_error *err)
{
        const struct pw_sharding sum = PW_PARTIAL(PW_SUM);
        struct pw_call_params params = { .output_count = 2, .output_shardings = &sum };
        struct pw_info weights_info, images_info;
        enum pw_status status = pw_future_info(weights, &weights_info, err);

        if (status == PW_OK)
                status = pw_future_info(work->images, &images_info, err);
        if (status != PW_OK)
                return status;
        struct pw_program *program = work->program = pw_program_new(worker->session, "parameter-server/gradient");
        struct pw_value *args[] = {
                pw_input(program, worker->slice, PW_F32, weights_info.dims, PW_BROADCAST, 0),
                pw_input(program, worker->slice, PW_F32, images_info.dims, PW_SPLIT(0), 0),
                pw_input(program, worker->slice, PW_U8, PW_DIMS(images_info.dims.dim[0]), PW_SPLIT(0), 0),
        };
        struct pw_value *gradient = pw_call_with(program, worker->slice, "digits/gradient", args, 3, sum, &params);
        pw_result(program, PW_AS(gradient, PW_BROADCAST));
        pw_result(program, PW_AS(pw_output(gradient, 1), PW_BROADCAST));
        return pw_compile(program, err);
}

static enum pw_status find_work(struct worker *worker, const struct task_note *task, struct pw_future *weights,
                                struct work **ret_work, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        if (!worker->works)
                worker->works = calloc(worker->places = task->places, sizeof *worker->works);
        if (!worker->works || task->place >= worker->places)
                return failure(err, PW_NO_MEMORY, worker->options->run, "out of memory for the parts of its batches");
        struct work *work = &worker->works[task->place];
        if (!work->images)
                status = bring(worker, task->images, &work->images, err);
        if (status == PW_OK && !work->labels)
                status = bring(worker, task->labels, &work->labels, err);
        if (status == PW_OK && !work->program)
                status = trace(worker, work, weights, err);
        *ret_work = work;
        return status;
}

/* One gradient. A run that fails is no failure here: its results say why, to the server. */
static enum pw_status make_gradient(struct worker *worker, const struct task_note *task, struct pw_error *err)
{
        struct pw_future *weights;
        struct work *work;
        enum pw_status status = bring(worker, task->weights, &weights, err);

        if (status != PW_OK)
                return status;
        status = find_work(worker, task, weights, &work, err);
        if (status == PW_OK)
                status = pw_run(work->program, PW_FUTURES(weights, work->images, work->labels), worker->results, err);
        pw_unref(weights);
        return status == PW_OK ? pw_wait(worker->results, 2, 2, PW_FOREVER, NULL, err) : status;
}

static void end(struct worker *worker)
{
        for (uint32_t i = 0; worker->works && i < worker->places; i++) {
                pw_unref(worker->works[i].images);
                pw_unref(worker->works[i].labels);
                pw_program_free(worker->works[i].program);
        }
        free(worker->works);
        unname(worker);
        pw_unref(worker->results[0]);
        pw_unref(worker->results[1]);
        pw_unref(worker->said);
        pw_unref(worker->answer);
        pw_unref(worker->task);
        pw_slice_close(worker->slice);
        pw_close(worker->session);
}

enum pw_status worker_run(const struct options *options, struct pw_error *err)
{
        struct worker worker = { .options = options };
        struct task_note task = { .is_last = 0 };
        enum pw_status status = come(&worker, err);

        while (status == PW_OK) {
                status = read_task(&worker, &task, err);
                if (status != PW_OK || task.is_last)
                        break;
                status = make_gradient(&worker, &task, err);
                if (status == PW_OK)
                        status = say(&worker, &task, err);
        }
        end(&worker);
        return status;
}
