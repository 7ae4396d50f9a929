/* The table of subcommands. */
#include "cli/command.h"

#include "base/memory.h"

#define AT(field) offsetof(struct pw_command_settings, field)

#define COMMON_OPTIONS                                                                                                        \
        { "socket", 0, PW_OPTION_TEXT, AT(socket), NULL, "PATH",                                                              \
          "The daemon's socket. Default: where libpathways looks." },                                                         \
        { "json", 0, PW_OPTION_FLAG, AT(json), NULL, NULL, "Print an array of JSON objects, one to a line." },                \
        { "help", 'h', PW_OPTION_FLAG, AT(help), NULL, NULL, "Print the help of the subcommand and exit." }

#define TYPE_OPTIONS(dtype_default, dims_default)                                                                             \
        { "dtype", 0, PW_OPTION_TEXT, AT(dtype), dtype_default, "NAME",                                                       \
          "bool, u8, u16, u32, u64, i8, i32, i64, f16, bf16, f32, f64 or opaque." },                                          \
        { "dims", 0, PW_OPTION_TEXT, AT(dims), dims_default, "N,...", "Dims of the value, for example 4,4." }

#define KIND_OPTION                                                                                                           \
        { "kind", 0, PW_OPTION_TEXT, AT(kind), NULL, "KIND",                                                                  \
          "Of devices of KIND: cpu, emulated or cuda. Default: whatever there is." }

#define WATCH_OPTION                                                                                                          \
        { "watch", 'w', PW_OPTION_PERIOD, AT(watch_us), NULL, "SECONDS",                                                    \
          "Again and again, every second or as often as given, 3 or 250ms; at least 10ms." }

#define HOST_OPTION(otherwise)                                                                                                \
        { "host", 0, PW_OPTION_TEXT, AT(host), NULL, "HOST",                                                                  \
          "Of this host of the cluster, by its name or as h2; \".\": of the daemon's own. Default: " otherwise "." }

static const struct pw_option common_options[] = { COMMON_OPTIONS };
static const struct pw_option watch_options[] = { WATCH_OPTION, COMMON_OPTIONS };
static const struct pw_option status_options[] = { HOST_OPTION("its own"), WATCH_OPTION, COMMON_OPTIONS };
static const struct pw_option memory_options[] = { HOST_OPTION("all"), WATCH_OPTION, COMMON_OPTIONS };
static const struct pw_option top_options[] = {
        { "interval", 'i', PW_OPTION_DURATION, AT(interval_us), "1s", "SECONDS", "How often it looks, from 100ms to 1min." },
        COMMON_OPTIONS,
};
static const struct pw_option host_list_options[] = {
        { "limit", 0, PW_OPTION_COUNT, AT(limit), "0", "N", "At most N rows. 0: as many as the daemon gives." },
        HOST_OPTION("its own"),
        WATCH_OPTION,
        COMMON_OPTIONS,
};
static const struct pw_option list_options[] = {
        { "limit", 0, PW_OPTION_COUNT, AT(limit), "0", "N", "At most N rows of each host. 0: as many as the daemon gives." },
        HOST_OPTION("all"),
        WATCH_OPTION,
        COMMON_OPTIONS,
};
static const struct pw_option run_list_options[] = {
        { "limit", 0, PW_OPTION_COUNT, AT(limit), "0", "N",
          "At most N rows of each host, the newest. 0: as many as the daemon gives." },
        HOST_OPTION("all"),
        WATCH_OPTION,
        COMMON_OPTIONS,
};
static const struct pw_option gang_list_options[] = {
        { "limit", 0, PW_OPTION_COUNT, AT(limit), "160", "N",
          "At most N rows of each host. As many of each device: the newest, from what is under way on. 0: as many as the daemon "
          "gives." },
        HOST_OPTION("all"),
        WATCH_OPTION,
        COMMON_OPTIONS,
};
static const struct pw_option put_options[] = {
        { "name", 0, PW_OPTION_TEXT, AT(name), NULL, "NAME",
          "Bind NAME to the object, which lives until the name is freed, or for the --ttl." },
        { "ttl", 0, PW_OPTION_DURATION, AT(ttl_us), NULL, "DURATION",
          "Keep it for so long, 250ms, 3s, 2min, 1h or 2d, not 0; then the name goes too. Where neither a name nor this is given: "
          "10min." },
        { "timeout", 0, PW_OPTION_DURATION, AT(timeout_us), NULL, "DURATION",
          "How long to read what is no file of a known size, and to wait for room. Where it is not given: 30s for room, for ever "
          "to read." },
        { "frozen", 0, PW_OPTION_FLAG, AT(frozen), NULL, NULL,
          "Where nobody can change the bytes any more, neither this process." },
        TYPE_OPTIONS("opaque", NULL),
        COMMON_OPTIONS,
};
static const struct pw_option get_options[] = {
        { "output", 'o', PW_OPTION_TEXT, AT(output), NULL, "FILE",
          "Write the bytes to FILE; without it, or \"-\": to standard output." },
        { "timeout", 0, PW_OPTION_DURATION, AT(timeout_us), "1min", "DURATION", "How long to wait for the value." },
        { "wait", 0, PW_OPTION_FLAG, AT(wait), NULL, NULL, "Wait for a name to be bound, too." },
        COMMON_OPTIONS,
};
static const struct pw_option wait_options[] = {
        { "any", 0, PW_OPTION_FLAG, AT(any), NULL, NULL, "Until one of them is ready; else until all are." },
        { "timeout", 0, PW_OPTION_DURATION, AT(timeout_us), "1min", "DURATION", "How long to wait." },
        { "wait", 0, PW_OPTION_FLAG, AT(wait), NULL, NULL, "Wait for names to be bound, too." },
        COMMON_OPTIONS,
};
static const struct pw_option free_options[] = {
        { "force", 0, PW_OPTION_FLAG, AT(force), NULL, NULL, "Drop the references of sessions, too." },
        COMMON_OPTIONS,
};
static const struct pw_option drain_options[] = {
        { "to", 0, PW_OPTION_TEXT, AT(to), NULL, "HOST", "Who takes over. Where it is not given: the next host that is there." },
        { "timeout", 0, PW_OPTION_DURATION, AT(timeout_us), "10min", "DURATION",
          "How long to wait until it has drained. It goes on after that." },
        COMMON_OPTIONS,
};
static const struct pw_option move_options[] = {
        { "devices", 'd', PW_OPTION_COUNT, AT(devices), "0", "N", "To N devices. 0: to host memory." },
        { "islands", 'i', PW_OPTION_COUNT, AT(islands), "0", "N", "Of N islands. 0: of as few as possible." },
        KIND_OPTION,
        { "sharding", 0, PW_OPTION_TEXT, AT(sharding), "broadcast", "HOW", "How it lies there: broadcast or split:DIM." },
        { "timeout", 0, PW_OPTION_DURATION, AT(timeout_us), "30s", "DURATION",
          "How long to wait for the value, for room and for the copy." },
        COMMON_OPTIONS,
};
static const struct pw_option run_options[] = {
        { "devices", 'd', PW_OPTION_COUNT, AT(devices), "1", "N", "Run it on N devices." },
        { "islands", 'i', PW_OPTION_COUNT, AT(islands), "0", "N", "Spread them over N islands. 0: over as few as possible." },
        KIND_OPTION,
        { "repeat", 'n', PW_OPTION_COUNT, AT(repeat), "1", "K",
          "Run it K times, each run on the last one's result where shapes allow it." },
        { "inputs", 0, PW_OPTION_COUNT, AT(inputs), "1", "K", "Give it K inputs, all zeros." },
        TYPE_OPTIONS("f32", "1"),
        { "sharding", 0, PW_OPTION_TEXT, AT(sharding), "broadcast", "HOW",
          "How inputs lie: broadcast or split:DIM." },
        { "result", 0, PW_OPTION_TEXT, AT(result), NULL, "HOW", "How the result lies. Default: as the inputs." },
        { "params-u64", 0, PW_OPTION_TEXT, AT(params), NULL, "N,...", "Parameters of the function: numbers of 64 bits." },
        { "ahead", 0, PW_OPTION_COUNT, AT(ahead), "64", "N", "Runs under way at a time." },
        COMMON_OPTIONS,
};

static const struct pw_option trace_options[] = {
        { "seconds", 's', PW_OPTION_DURATION, AT(seconds_us), "5s", "S",
          "For so long, 3 or 250ms, not 0; an interrupt ends it before." },
        { "output", 'o', PW_OPTION_TEXT, AT(output), NULL, "FILE",
          "Write the trace to FILE; without it, or \"-\": to standard output." },
        HOST_OPTION("all"),
        COMMON_OPTIONS,
};

static const struct pw_column status_columns[] = {
        { .key = "version" }, { .key = "host", .format = PW_CELL_HOST },
        { .key = "epoch", .format = PW_CELL_HEX }, { .key = "uptime_us", .heading = "uptime", .format = PW_CELL_DURATION },
        { .key = "tenant" }, { .key = "sessions" }, { .key = "devices" }, { .key = "devices_ready", .heading = "devices ready" },
        { .key = "islands" }, { .key = "host_capacity", .heading = "host memory", .format = PW_CELL_SIZE },
        { .key = "host_free", .heading = "free of it", .format = PW_CELL_SIZE }, { .key = "capped" }, { .key = "objects" },
        { .key = "puts_waiting", .heading = "puts waiting" }, { .key = "runs_in_flight", .heading = "runs in flight" },
        { .key = "runs_waiting", .heading = "runs waiting" }, { .key = "runs_done", .heading = "runs done" }, { .key = "traces" },
        { .key = "metadata" }, { .key = "cluster" }, { .key = "host_name", .heading = "name there" },
        { .key = "metadata_address", .heading = "metadata at" },
        { .key = "metadata_away_us", .heading = "away for", .format = PW_CELL_DURATION },
        { .key = "metadata_note", .heading = "because" }, { .key = "socket" }, { .key = "http" },
};
static const struct pw_column host_columns[] = {
        { .key = "host" }, { .key = "name" }, { .key = "epoch", .format = PW_CELL_HEX }, { .key = "link" }, { .key = "term" },
        { .key = "since_us", .heading = "for", .format = PW_CELL_DURATION },
        { .key = "drain" },
        { .key = "heard_us", .heading = "heard before", .format = PW_CELL_DURATION },
        { .key = "round_us", .heading = "round trip", .format = PW_CELL_DURATION },
        { .key = "bytes_out", .heading = "said", .format = PW_CELL_SIZE },
        { .key = "bytes_in", .heading = "heard", .format = PW_CELL_SIZE },
        { .key = "bulk_out", .heading = "values sent", .format = PW_CELL_SIZE },
        { .key = "bulk_in", .heading = "received", .format = PW_CELL_SIZE }, { .key = "address", .whole = true },
};
static const struct pw_column drain_columns[] = { { .key = "drained" } };
static const struct pw_column device_columns[] = {
        { .key = "device" }, { .key = "kind" }, { .key = "name" }, { .key = "island" }, { .key = "state" }, { .key = "pid" },
        { .key = "capacity", .format = PW_CELL_SIZE }, { .key = "used", .format = PW_CELL_SIZE },
        { .key = "gpu_power", .heading = "power", .format = PW_CELL_POWER },
        { .key = "gangs_done", .heading = "gangs" }, { .key = "restarts" },
};
static const struct pw_column island_columns[] = {
        { .key = "island" }, { .key = "devices" }, { .key = "runs_queued", .heading = "queued" },
        { .key = "runs_admitted", .heading = "admitted" }, { .key = "ordered" }, { .key = "policy" },
};
static const struct pw_column object_columns[] = {
        { .key = "id", .whole = true }, { .key = "state" }, { .key = "bytes", .format = PW_CELL_SIZE },
        { .key = "dtype", .heading = "type", .format = PW_CELL_TYPE, .other = "dims" }, { .key = "refs" }, { .key = "owner" },
        { .key = "age_us", .heading = "age", .format = PW_CELL_DURATION },
};
static const struct pw_column object_notes[] = { { .key = "names", .heading = "named" }, { .key = "mark" } };
static const struct pw_column memory_columns[] = {
        { .key = "memory" }, { .key = "term" }, { .key = "bytes", .format = PW_CELL_SIZE }, { .key = "about" },
};
static const struct pw_column owner_columns[] = {
        { .key = "tenant" }, { .key = "client" }, { .key = "program" },
        { .key = "host_bytes", .heading = "host", .format = PW_CELL_SIZE },
        { .key = "device_bytes", .heading = "device", .format = PW_CELL_SIZE }, { .key = "objects" },
        { .key = "since_us", .heading = "for", .format = PW_CELL_DURATION },
};
static const struct pw_column owner_notes[] = { { .key = "quota" }, { .key = "kept" } };
static const struct pw_column program_columns[] = {
        { .key = "program" }, { .key = "name" }, { .key = "nodes" }, { .key = "inputs" }, { .key = "results" },
        { .key = "peak", .heading = "peak/device", .format = PW_CELL_SIZE },
        { .key = "measured_peak", .heading = "measured", .format = PW_CELL_SIZE }, { .key = "runs" }, { .key = "slices" },
};
static const struct pw_column program_notes[] = { { .key = "stages" } };
static const struct pw_column node_columns[] = {
        { .key = "node" }, { .key = "kind" }, { .key = "name" }, { .key = "slice" }, { .key = "inputs" }, { .key = "outputs" },
        { .key = "waits" }, { .key = "way" }, { .key = "room", .heading = "room" },
        { .key = "scratch", .format = PW_CELL_SIZE },
};
static const struct pw_column run_columns[] = {
        { .key = "run" }, { .key = "program" }, { .key = "client" }, { .key = "state" },
        { .key = "age_us", .heading = "age", .format = PW_CELL_DURATION }, { .key = "nodes" },
        { .key = "nodes_ordered", .heading = "ordered" }, { .key = "took_us", .heading = "took", .format = PW_CELL_DURATION },
};
static const struct pw_column run_notes[] = { { .key = "waiting_for", .heading = "waits for" }, { .key = "error" } };
static const struct pw_column gang_columns[] = {
        { .key = "device" }, { .key = "seq" }, { .key = "run" }, { .key = "program" }, { .key = "node" }, { .key = "state" },
        { .key = "took_us", .heading = "took", .format = PW_CELL_DURATION },
};
static const struct pw_column why_columns[] = {
        { .key = "what" }, { .key = "waits_for", .heading = "waits for" },
        { .key = "since_us", .heading = "for", .format = PW_CELL_DURATION }, { .key = "remedy" },
};
static const struct pw_column check_columns[] = { { .key = "problem" }, { .key = "where" } };
static const struct pw_column id_columns[] = { { .key = "id" } };
static const struct pw_column cancel_columns[] = { { .key = "cancelled" } };
static const struct pw_column value_columns[] = { { .key = "id" }, { .key = "bytes" }, { .key = "dtype" }, { .key = "dims" } };
static const struct pw_column trial_columns[] = {
        { .key = "function" }, { .key = "devices" }, { .key = "runs" }, { .key = "chained" },
        { .key = "took_us", .heading = "took", .format = PW_CELL_DURATION }, { .key = "runs_per_s", .heading = "runs/s" },
};

static const struct pw_column wait_columns[] = { { .key = "what" }, { .key = "state" }, { .key = "status" } };
static const struct pw_column trace_columns[] = {
        { .key = "file" }, { .key = "seconds_us", .heading = "took", .format = PW_CELL_DURATION }, { .key = "gangs" },
        { .key = "runs" }, { .key = "lost" },
};

#define OPTIONS(name, items) { (items), pw_array_count(items), "pathways " name }
#define FORM(columns) { (columns), pw_array_count(columns), false, NULL, 0 }
#define FORM_NOTES(columns, notes) { (columns), pw_array_count(columns), false, (notes), pw_array_count(notes) }

const struct pw_command pw_commands[] = {
        { "status", "", 0, 0, "The daemon in a few lines. Its version, host, devices, and what it does now.", pw_command_list,
          OPTIONS("status", status_options), { status_columns, pw_array_count(status_columns), true, NULL, 0 }, { 0 } },
        { "hosts", "", 0, 0, "The hosts of the cluster, and the links to them.", pw_command_list,
          OPTIONS("hosts", host_list_options), FORM(host_columns), { 0 } },
        { "devices", "", 0, 0, "Devices, their executors and the memory in use.", pw_command_survey,
          OPTIONS("devices", list_options), FORM(device_columns), { 0 } },
        { "islands", "", 0, 0, "Islands, with the runs queued and admitted in each.", pw_command_survey,
          OPTIONS("islands", list_options), FORM(island_columns), { 0 } },
        { "objects", "", 0, 0, "Objects, with their owners and names.", pw_command_survey, OPTIONS("objects", list_options),
          FORM_NOTES(object_columns, object_notes), { 0 } },
        { "object", "ID|NAME", 1, 1, "All that is known of an object. Where its shards are, who holds it and who waits for it.",
          pw_command_object, OPTIONS("object", common_options), { 0 }, { 0 } },
        { "put", "FILE|-", 1, 1, "Put the bytes of FILE, or of standard input. Prints the id.", pw_command_put,
          OPTIONS("put", put_options), FORM(id_columns), { 0 } },
        { "get", "ID|NAME", 1, 1, "Wait for an object and write its bytes.", pw_command_get, OPTIONS("get", get_options),
          FORM(value_columns), { 0 } },
        { "wait", "ID|NAME...", 1, UINT32_MAX,
          "Wait until objects are ready. Exits with 4 at the deadline, with 1 if one is in error.",
          pw_command_wait, OPTIONS("wait", wait_options), FORM(wait_columns), { 0 } },
        { "move", "ID|NAME", 1, 1,
          "Move the result of a run to another memory. It keeps its id; names and leases alone may hold it.",
          pw_command_move, OPTIONS("move", move_options), FORM(id_columns), { 0 } },
        { "transfer", "ID|NAME OWNER", 2, 3,
          "Charge an object to another owner. OWNER is CLIENT[PID] or pid N, a process that then "
          "holds it, or name NAME.",
          pw_command_transfer, OPTIONS("transfer", common_options), FORM(id_columns), { 0 } },
        { "free", "ID|NAME", 1, 1, "Drop the names and leases of an object. Of one of another host, by NAME: that name.",
          pw_command_free, OPTIONS("free", free_options), FORM(id_columns), { 0 } },
        { "memory", "", 0, 0, "Where each byte of each memory is. The last line is what does not add up: 0. "
          "What an executor takes of its GPU beside rooms is overhead.", pw_command_memory,
          OPTIONS("memory", memory_options), FORM(memory_columns), { 0 } },
        { "owners", "", 0, 0, "Who is charged for how much, and since when. Beside it, what the tenant has of its quota.",
          pw_command_survey, OPTIONS("owners", list_options),
          FORM_NOTES(owner_columns, owner_notes), { 0 } },
        { "programs", "[N]", 0, 1, "Compiled programs with their peak per device. With N: the nodes of program N.",
          pw_command_survey, OPTIONS("programs", list_options), FORM_NOTES(program_columns, program_notes), FORM(node_columns) },
        { "runs", "", 0, 0, "Runs that are under way, and the last that ended.", pw_command_survey,
          OPTIONS("runs", run_list_options),
          FORM_NOTES(run_columns, run_notes), { 0 } },
        { "gangs", "[DEVICE]", 0, 1, "Gangs in the order in which the devices run them. With DEVICE, h0:2: of that device.",
          pw_command_survey, OPTIONS("gangs", gang_list_options), FORM(gang_columns), FORM(gang_columns) },
        { "drain", "HOST", 1, 1,
          "Have others take over what is held of a host. They do so for themselves, names and leases. HOST is its name, or h1. "
          "It takes no new work from then on, until it is started again. What its own clients alone hold ends with it.",
          pw_command_drain, OPTIONS("drain", drain_options), FORM(drain_columns), { 0 } },
        { "cancel", "ID|NAME|run N", 1, 2,
          "Cancel a run, by number or by an object that it makes. What has begun of it goes on, unseen.",
          pw_command_cancel, OPTIONS("cancel", common_options), FORM(cancel_columns), { 0 } },
        { "why", "WHAT", 1, 3,
          "Why something is not ready, or still there. WHAT is ID, NAME, run N, HOST, DEVICE, gang DEVICE SEQ, pid N or "
          "CLIENT[PID]. Shows what it waits for, "
          "down to the cause, and what helps.",
          pw_command_why, OPTIONS("why", watch_options), FORM(why_columns), { 0 } },
        { "run", "MODULE/FUNCTION", 1, 1, "Run one function over inputs of zeros, and time it.", pw_command_run,
          OPTIONS("run", run_options), FORM(trial_columns), { 0 } },
        { "top", "", 0, 0, "What the daemon does now, on a terminal. Devices, memory, the largest owners and what runs wait for.",
          pw_command_top, OPTIONS("top", top_options), { 0 }, { 0 } },
        { "trace", "", 0, 0, "Write what the devices do as a file that Perfetto opens. One row per device, one for its transfers.",
          pw_command_trace, OPTIONS("trace", trace_options), FORM(trace_columns), { 0 } },
        { "check", "", 0, 0,
          "Let the daemon look for what does not hold together. Exits with 1 if there is anything; what it is, only operators "
          "are told.",
          pw_command_check, OPTIONS("check", watch_options), FORM(check_columns), { 0 } },
};
const uint32_t pw_command_count = pw_array_count(pw_commands);
