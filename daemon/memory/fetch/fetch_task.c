/* What executors are to copy: given when they ask, reported when they ask again. */
#include "daemon/memory/fetch/fetch_private.h"

#include "base/memory.h"
#include "daemon/child/child.h"

#include <stdio.h>

#define GIVEN_MOST 64u /* at a time */

void pw_fetch_tasks_begin(struct pw_fetch *fetch)
{
        struct pw_fetches *fetches = fetch->daemon->memory.fetches;

        fetch->open = fetch->task_count;
        for (uint32_t i = 0; i < fetch->task_count; i++) {
                struct pw_fetch_task *task = &fetch->tasks[i];

                task->token = ++fetches->next_token;
                pw_list_append(&fetches->devices[task->device].to_give, &task->link);
                pw_child_wants(fetch->daemon, task->device);
        }
}

/* The fetch may be no more when it returns. */
static void ended(struct pw_fetch_task *task, enum pw_status status, const char *text)
{
        struct pw_fetch *fetch = task->fetch;

        pw_list_remove(&task->link);
        if (status != PW_OK && fetch->why.status == PW_OK)
                (void)!pw_error_set(&fetch->why, status, "%s", text && text[0] ? text : pw_status_text(status));
        if (!--fetch->open)
                pw_fetch_end(fetch);
}

static struct pw_fetch_task *find_given(struct pw_fetches *fetches, uint32_t device, uint64_t token)
{
        struct pw_fetch_task *task;

        pw_list_each(&fetches->devices[device].given, task, struct pw_fetch_task, link)
                if (task->token == token)
                        return task;
        return NULL;
}

struct told { Pathways__Wire__FetchTasks tasks; Pathways__Wire__FetchTask room[GIVEN_MOST], *list[GIVEN_MOST]; };

static void give(struct pw_fetches *fetches, uint32_t device, struct told *told)
{
        pathways__wire__fetch_tasks__init(&told->tasks);
        told->tasks.tasks = told->list;
        while (told->tasks.n_tasks < GIVEN_MOST && !pw_list_empty(&fetches->devices[device].to_give)) {
                struct pw_fetch_task *task = pw_list_first(&fetches->devices[device].to_give, struct pw_fetch_task, link);
                Pathways__Wire__FetchTask *to = told->list[told->tasks.n_tasks] = &told->room[told->tasks.n_tasks];
                struct pw_replica_place room = pw_replica_at(task->fetch->replica);

                pathways__wire__fetch_task__init(to);
                to->token = task->token;
                to->from_segment = task->from_segment;
                to->from_offset = task->from_offset;
                to->bytes = task->bytes;
                to->to_segment = room.segment;
                to->to_offset = room.offset + task->to;
                pw_list_remove(&task->link);
                pw_list_append(&fetches->devices[device].given, &task->link);
                told->tasks.n_tasks++;
        }
}

void pw_fetch_report(struct pw_dsession *session, uint64_t id, const Pathways__Wire__FetchReport *report)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_fetches *fetches = daemon->memory.fetches;
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        struct told told;

        for (size_t i = 0; fetches && i < report->n_done; i++) {
                const Pathways__Wire__FetchDone *done = report->done[i];
                struct pw_fetch_task *task = find_given(fetches, session->device, done->token);

                if (task)
                        ended(task, done->status ? pw_status_told(done->status) : PW_OK, done->text);
        }
        pathways__wire__fetch_tasks__init(&told.tasks);
        if (fetches)
                give(fetches, session->device, &told);
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_FETCH_TASKS;
        reply.fetch_tasks = &told.tasks;
        pw_session_reply(session, id, &reply, NULL, 0);
}

static void lose(struct pw_list *tasks, const char *text)
{
        while (!pw_list_empty(tasks))
                ended(pw_list_first(tasks, struct pw_fetch_task, link), PW_DEVICE_LOST, text);
}

void pw_fetches_executor_down(struct pw_daemon *daemon, uint32_t device)
{
        struct pw_fetches *fetches = daemon->memory.fetches;
        char text[100];

        if (!fetches)
                return;
        snprintf(text, sizeof text, "device h%u:%u: its executor ended before it had copied the value", daemon->host, device);
        lose(&fetches->devices[device].given, text);
        lose(&fetches->devices[device].to_give, text);
}
