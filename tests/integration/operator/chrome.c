/* A Chrome trace, read and judged. */
#include "tests/integration/operator/chrome.h"

#include "base/memory.h"
#include "base/table.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

struct reader {
        struct it_chrome *chrome;
        struct pw_table rows;  /* process and row -> 1 + the last bar */
        struct pw_table named; /* process and row -> anything */
        struct pw_table begun; /* run -> anything */
        struct pw_table states; /* run -> 1 + the last one that it came into */
        uint32_t capacity;
        size_t at;             /* event */
};

static bool wrong(struct reader *reader, const char *what)
{
        if (!reader->chrome->problem[0])
                snprintf(reader->chrome->problem, sizeof reader->chrome->problem, "event %zu: %s", reader->at, what);
        return false;
}

static int64_t ns_of(const json_t *number) { return llround(json_number_value(number) * 1000); }

static uint64_t row_key(int64_t process, int64_t row) { return (uint64_t)process << 32 | (uint64_t)row; }

static bool take_args(struct reader *reader, const json_t *args, struct it_chrome_bar *bar)
{
        static const char *const numbers[] = { "run", "seq", "node", "bytes" };
        int64_t *const fields[] = { &bar->run, &bar->seq, &bar->node, &bar->bytes };
        const char *status = json_string_value(json_object_get(args, "status"));

        for (size_t i = 0; i < pw_array_count(numbers); i++) {
                const json_t *number = json_object_get(args, numbers[i]);
                if (!json_is_integer(number) || json_integer_value(number) < 0)
                        return wrong(reader, "args of a bar lack run, seq, node or bytes");
                *fields[i] = json_integer_value(number);
        }
        snprintf(bar->stage, sizeof bar->stage, "%s",
                 json_is_string(json_object_get(args, "stage")) ? json_string_value(json_object_get(args, "stage")) : "");
        snprintf(bar->status, sizeof bar->status, "%s", status ? status : "");
        return status || wrong(reader, "args of a bar lack status");
}

static bool take_bar(struct reader *reader, const json_t *event, struct it_chrome_bar *bar)
{
        const json_t *duration = json_object_get(event, "dur");
        const char *category = json_string_value(json_object_get(event, "cat"));
        struct it_chrome *chrome = reader->chrome;
        size_t last = (size_t)(uintptr_t)pw_table_get(&reader->rows, row_key(bar->process, bar->row));

        if (!json_is_number(duration) || ns_of(duration) < 0)
                return wrong(reader, "a bar without dur");
        if (!category)
                return wrong(reader, "a bar without cat");
        snprintf(bar->category, sizeof bar->category, "%s", category);
        bar->end_ns = bar->start_ns + ns_of(duration);
        if (!take_args(reader, json_object_get(event, "args"), bar))
                return false;
        if (last && bar->start_ns < chrome->bars[last - 1].start_ns)
                return wrong(reader, "ts goes back in its row");
        if (last && bar->start_ns < chrome->bars[last - 1].end_ns)
                return wrong(reader, "overlaps the bar before in its row");
        if (!pw_grow((void **)&chrome->bars, &reader->capacity, (uint32_t)chrome->bar_count + 1, sizeof *bar))
                return wrong(reader, "out of memory");
        chrome->bars[chrome->bar_count++] = *bar;
        return pw_table_put(&reader->rows, row_key(bar->process, bar->row), (void *)(uintptr_t)chrome->bar_count) ||
               wrong(reader, "out of memory");
}

static bool take_run(struct reader *reader, const json_t *event, bool begin)
{
        const char *id = json_string_value(json_object_get(event, "id")),
                   *category = json_string_value(json_object_get(event, "cat"));

        if (!id || !category)
                return wrong(reader, "an async event without id and cat");
        if (!begin && !pw_table_get(&reader->begun, pw_text_key(id)))
                return wrong(reader, "an end without begin");
        if (begin && (pw_table_get(&reader->begun, pw_text_key(id)) || !pw_table_put(&reader->begun, pw_text_key(id), reader)))
                return wrong(reader, "a second begin of one id");
        if (!strcmp(category, "move"))
                reader->chrome->moves += begin;
        else
                *(begin ? &reader->chrome->runs_begun : &reader->chrome->runs_ended) += 1;
        return true;
}

/* They may come before the span of their run does. */
static bool take_state(struct reader *reader, const json_t *event, const char *name)
{
        static const char *const names[] = { "queued", "admitted", "ended" };
        const char *id = json_string_value(json_object_get(event, "id"));
        uint64_t seen = id ? (uint64_t)(uintptr_t)pw_table_get(&reader->states, pw_text_key(id)) : 0;

        if (!id || !json_is_string(json_object_get(json_object_get(event, "args"), "cause")))
                return wrong(reader, "a state without id or cause");
        while (seen < pw_array_count(names) && strcmp(name, names[seen]))
                seen++;
        if (seen == pw_array_count(names))
                return wrong(reader, "a state that does not follow the one before");
        reader->chrome->states++;
        return pw_table_put(&reader->states, pw_text_key(id), (void *)(uintptr_t)(seen + 1)) || wrong(reader, "out of memory");
}

static bool take_label(struct reader *reader, const json_t *event, const struct it_chrome_bar *bar)
{
        if (!json_is_string(json_object_get(json_object_get(event, "args"), "name")))
                return wrong(reader, "a label without args.name");
        if (strcmp(bar->name, "thread_name"))
                return true;
        reader->chrome->rows_named++;
        return pw_table_put(&reader->named, row_key(bar->process, bar->row), reader) || wrong(reader, "out of memory");
}

static bool take_event(struct reader *reader, const json_t *event)
{
        const char *phase = json_string_value(json_object_get(event, "ph")),
                   *name = json_string_value(json_object_get(event, "name"));
        const json_t *process = json_object_get(event, "pid"), *row = json_object_get(event, "tid"),
                *start = json_object_get(event, "ts");
        struct it_chrome_bar bar = { 0 };

        if (!phase || strlen(phase) != 1 || !strchr("XMbne", *phase))
                return wrong(reader, "ph is none of X, M, b, n, e");
        if (!name)
                return wrong(reader, "name is no string");
        if (!json_is_integer(process) || !json_is_integer(row))
                return wrong(reader, "pid and tid are no integers");
        if (!json_is_number(start) || ns_of(start) < 0)
                return wrong(reader, "ts is no number from 0 on");
        snprintf(bar.name, sizeof bar.name, "%s", name);
        bar.process = json_integer_value(process);
        bar.row = json_integer_value(row);
        bar.start_ns = ns_of(start);
        if (*phase == 'X')
                return take_bar(reader, event, &bar);
        if (*phase == 'n')
                return take_state(reader, event, name);
        return *phase == 'M' ? take_label(reader, event, &bar) : take_run(reader, event, *phase == 'b');
}

static bool rows_are_named(struct reader *reader)
{
        for (size_t i = 0; i < reader->chrome->bar_count; i++)
                if (!pw_table_get(&reader->named, row_key(reader->chrome->bars[i].process, reader->chrome->bars[i].row)))
                        return wrong(reader, "a row with bars has no name");
        return true;
}

bool it_chrome_read(const char *path, struct it_chrome *ret_chrome)
{
        struct reader reader = { .chrome = ret_chrome };
        json_error_t error;
        json_t *file = json_load_file(path, 0, &error), *events = json_object_get(file, "traceEvents");
        bool ok = true;

        *ret_chrome = (struct it_chrome){ 0 };
        if (!json_is_array(events))
                ok = wrong(&reader, file ? "traceEvents is no array" : error.text);
        for (reader.at = 0; ok && reader.at < json_array_size(events); reader.at++)
                ok = take_event(&reader, json_array_get(events, reader.at));
        ok = ok && rows_are_named(&reader);
        ret_chrome->lost = json_integer_value(json_object_get(json_object_get(file, "otherData"), "lost"));
        pw_table_done(&reader.rows);
        pw_table_done(&reader.named);
        pw_table_done(&reader.begun);
        pw_table_done(&reader.states);
        json_decref(file);
        return ok;
}

void it_chrome_free(struct it_chrome *chrome)
{
        free(chrome->bars);
        *chrome = (struct it_chrome){ 0 };
}
