/* The table of the daemon's options. */
#include "daemon/settings/settings.h"

#include "base/memory.h"
#include "daemon/settings/http_address.h"
#include "daemon/settings/metadata.h"
#include "daemon/settings/quota.h"
#include "daemon/settings/tenants.h"
#include "daemon/settings/weight.h"
#include "plane/board/board.h"
#include "scheduler/scheduler.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct pw_settings, field)

static const struct pw_option items[] = {
        { "config", 'c', PW_OPTION_TEXT, AT(config), NULL, "FILE",
          "Read options from FILE, `name = value` a line. The command line wins." },
        { "run-dir", 0, PW_OPTION_TEXT, AT(run_dir), NULL, "DIR",
          "Where the socket pathwaysd.sock lies. Default: /run/pathways as root, else $XDG_RUNTIME_DIR/pathways." },
        { "state-dir", 0, PW_OPTION_TEXT, AT(state_dir), NULL, "DIR",
          "Where the host's last epoch is kept. In a cluster its number, and the hosts that it knew, too. Default: "
          "/var/lib/pathways as root, else $XDG_STATE_HOME/pathways." },
        { "devices", 'd', PW_OPTION_TEXT, AT(devices), "emulated:1", "KIND:COUNT",
          "Devices of this host: cpu, emulated or cuda, and how many. Several kinds with commas: emulated:4,cpu:2. Of GPUs which, "
          "too: cuda@0,2." },
        { "islands", 'i', PW_OPTION_COUNT, AT(islands), "1", "N", "Islands that the devices are spread over evenly." },
        { "host-memory", 'm', PW_OPTION_SIZE, AT(host_memory), "0", "SIZE",
          "Capacity of host memory, the memory of emulated and cpu devices included. 0: a quarter of what is available. Never more "
          "than seven eighths of what a memory cgroup leaves." },
        { "device-memory", 0, PW_OPTION_SIZE, AT(device_memory), "256 MiB", "SIZE", 
          "Capacity of each device. 0: of GPUs, nine tenths of what is free, less 512 MiB for NCCL." },
        { "launch-delay", 0, PW_OPTION_DURATION, AT(launch_delay_us), "0us", "DURATION",
          "Emulated devices: time that each function takes besides its own." },
        { "copy-bandwidth", 0, PW_OPTION_SIZE, AT(copy_bandwidth), "0", "SIZE",
          "Emulated devices: bytes a second that a transfer moves. 0: no limit." },
        { "cuda-driver", 0, PW_OPTION_TEXT, AT(cuda_driver), NULL, "FILE",
          "The library of the CUDA driver that executors of GPUs load. Default: libcuda.so.1, wherever the system has it." },
        { "nccl-library", 0, PW_OPTION_TEXT, AT(nccl_library), NULL, "FILE",
          "The library of NCCL, 2.28 or newer, by which GPUs of an island reduce together. Default: libnccl.so.2, wherever the "
          "system has it. Without one GPUs read each other's memory." },
        { "nccl-communicators", 0, PW_OPTION_COUNT, AT(nccl_communicators), "16", "N",
          "How many sets of GPUs each GPU keeps ready to reduce together. The one that was used least recently goes. From 1 "
          "to 1024." },
        { "nccl-nvls", 0, PW_OPTION_FLAG, AT(nccl_nvls), "no", NULL,
          "Let NCCL sum in the switches between GPUs, where they can. It is faster, and sums have other bits." },
        { "no-nccl", 0, PW_OPTION_FLAG, AT(no_nccl), "no", NULL, "Do without NCCL: GPUs read each other's memory." },
        { "nvml", 0, PW_OPTION_TEXT, AT(nvml), NULL, "FILE",
          "The library of NVML, which says how much memory and power GPUs use. Default: libnvidia-ml.so.1, wherever the system "
          "has it. Without one that is not shown." },
        { "emulated-apart", 0, PW_OPTION_FLAG, AT(emulated_apart), "no", NULL,
          "Emulated devices: the processor does not read their memory, as that of GPUs. Values are fetched from there first." },
        { "modules", 'M', PW_OPTION_LIST, AT(modules), NULL, "DIR",
          "A folder of modules NAME.so, besides the installed one. May be given several times; the first that has a module wins. "
          "SIGHUP applies a change." },
        { "executor", 0, PW_OPTION_TEXT, AT(executor), NULL, "FILE",
          "The executor's program. Default: the installed one, or the one built beside this daemon." },
        { "executor-user", 0, PW_OPTION_TEXT, AT(executor_user), NULL, "USER",
          "Whom executors run as where the daemon is root. Default: pathways-executor where there is such a user, else nobody." },
        { "function-limit", 0, PW_OPTION_DURATION, AT(function_limit_us), "10min", "DURATION",
          "How long a function may take, about, whatever limit of its own it has. One that takes longer ends its executor. "
          "What devices do together by NCCL is given up. "
          "What else takes twice as long and half a minute ends it, too. "
          "0: as long as it likes." },
        { "policy", 0, PW_OPTION_TEXT, AT(policy), "fifo", "NAME",
          "Whose gang islands order next: fifo, tenants in turn; share, by weights." },
        { "weight", 0, PW_OPTION_LIST, AT(weights), NULL, "TENANT=N",
          "Policy share: what TENANT has of device time that others want too. "
          "N against theirs, from 1 to 1000. Not given: 1. TENANT is a user's name, uid-N of one that has none, or * for all. "
          "A tenant's own line goes before. May be given several times. SIGHUP applies a change." },
        { "ahead", 'W', PW_OPTION_COUNT, AT(ahead), "64", "N", "Gangs ordered ahead per device." },
        { "admit-deadline", 0, PW_OPTION_DURATION, AT(admit_us), "10min", "DURATION",
          "How long a run may wait to be admitted. SIGHUP applies a change." },
        { "socket-mode", 0, PW_OPTION_OCTAL, AT(socket_mode), "0666", "MODE",
          "Mode of the socket. A client's tenant is its user. SIGHUP applies a change." },
        { "operators", 0, PW_OPTION_TEXT, AT(operators), NULL, "GROUP",
          "Members of GROUP see and touch what is of every tenant. So do root and the daemon's user. Others see only their own. "
          "SIGHUP applies a change." },
        { "tenant", 0, PW_OPTION_LIST, AT(tenants), NULL, "USER=NAME",
          "What the tenant of a user is called, here and on the other hosts. For users who are not called the same on all of them: "
          "robert=bo. A user without a name is uid-1007. Who is not named is called as the user. A user without a name stays on "
          "this host. So does one whose name is the tenant of another. Repeatable." },
        { "quota", 0, PW_OPTION_LIST, AT(quotas), NULL, "TENANT:WHAT=N,...",
          "What TENANT may have: host=SIZE, device=SIZE, objects=N, sessions=N. For example bo:host=2GiB,sessions=50. "
          "Device is the memory of all devices together. What is left out has no limit, sessions 16384. "
          "TENANT is a user's name, uid-N of one that has none, or * for all. "
          "A tenant's own line goes before; none lifts a limit. May be given several times. SIGHUP applies a change." },
        { "http", 0, PW_OPTION_TEXT, AT(http), NULL, "ADDR:PORT",
          "Serve /metrics and /health there: a loopback address, or unix:PATH. Port 0: any that is free; the log says which. "
          "Not given: nowhere." },
        { "metadata", 0, PW_OPTION_TEXT, AT(metadata), "embedded", "KIND",
          "What tells this host its number, and keeps names: embedded, for one host. "
          "Or the Redis of a cluster: redis://ADDR:PORT or redis+unix:/PATH. "
          "See pathways-metadata(7)." },
        { "cluster", 0, PW_OPTION_TEXT, AT(cluster), NULL, "NAME",
          "The cluster that this host is of. Several may share a Redis." },
        { "new-cluster", 0, PW_OPTION_FLAG, AT(new_cluster), "no", NULL,
          "Found the cluster, where no living one has its name. It changes nothing for a host that is of one." },
        { "host-name", 0, PW_OPTION_TEXT, AT(host_name), NULL, "NAME",
          "This host's name in its cluster, with which it keeps its number. Default: the machine's name." },
        { "lease", 0, PW_OPTION_DURATION, AT(lease_us), "3s", "DURATION",
          "A host or a Redis that is silent for so long is not there. From 100ms to 1h, the same on all hosts of a cluster." },
        { "listen", 0, PW_OPTION_TEXT, AT(listen), NULL, "ADDR:PORT",
          "Where other hosts of the cluster reach this one. An address in numbers, port 0 for any free one. "
          "Or the path of a socket, for daemons of one user on one machine. "
          "On loopback --secret-file is enough, elsewhere it takes --tls-cert." },
        { "secret-file", 0, PW_OPTION_TEXT, AT(secret_file), NULL, "FILE",
          "What the hosts of a cluster on loopback have in common: any bytes. Nobody but its owner may read FILE." },
        { "tls-cert", 0, PW_OPTION_TEXT, AT(tls_cert), NULL, "FILE", "This host's certificate, PEM: it names the host." },
        { "tls-key", 0, PW_OPTION_TEXT, AT(tls_key), NULL, "FILE", "Its key, PEM. Nobody but its owner may read FILE." },
        { "tls-ca", 0, PW_OPTION_TEXT, AT(tls_ca), NULL, "FILE", "The authority that certificates of hosts have to be of, PEM." },
        { "link-reserve", 0, PW_OPTION_SIZE, AT(link_reserve), "4MiB", "SIZE",
          "Memory for each host that pulls values which are spread over devices here. They are gathered there, 1 MiB at a time. "
          "From 1 MiB to 32 MiB; it is taken with the first one, and counts as overhead." },
        { "redis-user", 0, PW_OPTION_TEXT, AT(redis_user), NULL, "NAME", "The user of Redis. Default: its default user." },
        { "redis-password-file", 0, PW_OPTION_TEXT, AT(redis_password_file), NULL, "FILE",
          "The first line of FILE is the password of Redis. Nobody but its owner may read FILE." },
        { "redis-plaintext", 0, PW_OPTION_FLAG, AT(redis_plaintext), "no", NULL,
          "Allow a Redis on another machine. Names and the password cross the network in plain text then." },
        { "shutdown", 0, PW_OPTION_DURATION, AT(shutdown_us), "10s", "DURATION",
          "At SIGTERM, how long runs in flight may go on. SIGHUP applies a change." },
        { "log-level", 0, PW_OPTION_TEXT, AT(log_level), "info", "LEVEL",
          "error, warning, info or debug. SIGHUP applies a change." },
        { "ready-fd", 0, PW_OPTION_COUNT, AT(ready_fd), "0", "FD",
          "Write a newline to this descriptor once all executors are ready. 0: none." },
        { "help", 'h', PW_OPTION_FLAG, AT(help), "no", NULL, "Print this and exit." },
        { "version", 'V', PW_OPTION_FLAG, AT(version), "no", NULL, "Print the version and exit." },
        { "help-mdoc", 0, PW_OPTION_FLAG, AT(help_mdoc), "no", NULL, "Print the options as the manual has them and exit." },
        { "metrics-mdoc", 0, PW_OPTION_FLAG, AT(metrics_mdoc), "no", NULL, "Print the metrics as the manual has them and exit." },
};

const struct pw_options pw_settings_options = { items, pw_array_count(items), "pathwaysd" };

/* What means something on the command line alone is no key. */
static enum pw_status check_keys(const uint32_t *lines, const char *path, struct pw_error *ret_err)
{
        static const char *const not_keys[] = { "config", "help", "version", "help-mdoc", "metrics-mdoc" };

        for (uint32_t i = 0; i < pw_settings_options.count; i++)
                for (uint32_t k = 0; k < pw_array_count(not_keys); k++)
                        if (lines[i] && !strcmp(items[i].name, not_keys[k]))
                                return pw_error_set(ret_err, PW_BAD_CONFIG,
                                                    "%s:%u: %s is no key of a file: --%s is for the command line", path,
                                                    lines[i], items[i].name, items[i].name);
        return PW_OK;
}

/* The config file, with the line of each option. It is named on the command line, which beats it: so that is read twice. */
static enum pw_status read_config(struct pw_settings *settings, uint32_t *ret_lines, int argc, char **argv,
                                  struct pw_error *ret_err)
{
        struct pw_settings first = { 0 };
        enum pw_status status = pw_options_defaults(&pw_settings_options, &first, ret_err);
        int operand;

        if (status == PW_OK)
                status = pw_options_parse(&pw_settings_options, &first, argc, argv, &operand, ret_err);
        if (status == PW_OK && first.config)
                status = pw_options_read(&pw_settings_options, settings, first.config, ret_lines, ret_err);
        if (status == PW_OK && first.config)
                status = check_keys(ret_lines, first.config, ret_err);
        pw_settings_done(&first);
        return status;
}

enum pw_status pw_settings_log_level(const struct pw_settings *settings, enum pw_log_level *ret_level, struct pw_error *ret_err)
{
        static const struct { const char *name; enum pw_log_level level; } levels[] = {
                { "error", PW_LOG_ERROR }, { "warning", PW_LOG_WARNING }, { "info", PW_LOG_INFO }, { "debug", PW_LOG_DEBUG },
        };

        for (uint32_t i = 0; i < pw_array_count(levels); i++) {
                if (!strcmp(levels[i].name, settings->log_level)) {
                        *ret_level = levels[i].level;
                        return PW_OK;
                }
        }
        return pw_error_set(ret_err, PW_INVALID, "--log-level %s: error, warning, info or debug", settings->log_level);
}

#define LONGEST_US (UINT64_C(36500) * 24 * 3600 * 1000000) /* added to any time of the clock it is a time still */

static enum pw_status check_durations(const struct pw_settings *settings, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < pw_settings_options.count; i++)
                if (items[i].kind == PW_OPTION_DURATION &&
                    *(const uint64_t *)((const char *)settings + items[i].offset) > LONGEST_US)
                        return pw_error_set(ret_err, PW_INVALID, "--%s: at most 36500d", items[i].name);
        if (!settings->admit_us)
                return pw_error_set(ret_err, PW_INVALID, "--admit-deadline 0: at least 1us");
        return PW_OK;
}

static enum pw_status not_devices(const struct pw_settings *settings, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_INVALID,
                            "--devices \"%s\": KIND:COUNT with 1 to %u devices in all, for example emulated:4, or cuda@0,2",
                            settings->devices, PW_DEVICES_MAX);
}

/* One word between commas: "KIND", "KIND:COUNT", "KIND@ORDINAL", and behind the last, "ORDINAL". */
struct device_word { const char *text; size_t length; };

static bool is_number(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++)
                if (text[i] < '0' || text[i] > '9')
                        return false;
        return length > 0 && length < 6;
}

static enum pw_status add_device(struct pw_settings *settings, const char *name, size_t length, uint32_t ordinal,
                                 struct pw_error *ret_err)
{
        struct pw_device_kinds *kinds = &settings->kinds;

        if (kinds->count == PW_DEVICES_MAX)
                return not_devices(settings, ret_err);
        snprintf(kinds->of[kinds->count].name, sizeof kinds->of[0].name, "%.*s", (int)length, name);
        kinds->of[kinds->count].ordinal = ordinal;
        kinds->of[kinds->count].apart = !strcmp(kinds->of[kinds->count].name, "cuda") ||
                                        (settings->emulated_apart && !strcmp(kinds->of[kinds->count].name, "emulated"));
        kinds->of[kinds->count].kernels = !strcmp(kinds->of[kinds->count].name, "cuda");
        kinds->of[kinds->count].in_host = strcmp(kinds->of[kinds->count].name, "cuda") != 0;
        kinds->count++;
        return PW_OK;
}

static bool is_kind(const char *name, size_t length)
{
        static const char *const names[] = { "cpu", "emulated", "cuda" };

        for (size_t i = 0; i < pw_array_count(names); i++)
                if (strlen(names[i]) == length && !memcmp(names[i], name, length))
                        return true;
        return false;
}

/* `kind`: of the word before, where that named ordinals; else empty. */
static enum pw_status add_devices(struct pw_settings *settings, const struct device_word *word, struct device_word *kind,
                                  struct pw_error *ret_err)
{
        size_t name_length = 0;
        const char *rest;
        enum pw_status status = PW_OK;
        unsigned long count = 1;

        while (name_length < word->length && word->text[name_length] != ':' && word->text[name_length] != '@')
                name_length++;
        rest = word->text + name_length + 1;
        if (kind->length && is_number(word->text, word->length))
                return add_device(settings, kind->text, kind->length, (uint32_t)strtoul(word->text, NULL, 10), ret_err);
        *kind = (struct device_word){ NULL, 0 };
        if (!name_length || (name_length < word->length && !is_number(rest, word->length - name_length - 1)))
                return not_devices(settings, ret_err);
        if (!is_kind(word->text, name_length))
                return pw_error_set(ret_err, PW_INVALID, "--devices \"%s\": the kinds are cpu, emulated and cuda, not \"%.*s\"",
                                    settings->devices, (int)name_length, word->text);
        if (name_length < word->length && word->text[name_length] == '@') {
                *kind = (struct device_word){ word->text, name_length };
                return add_device(settings, word->text, name_length, (uint32_t)strtoul(rest, NULL, 10), ret_err);
        }
        if (name_length < word->length)
                count = strtoul(rest, NULL, 10);
        if (!count)
                return not_devices(settings, ret_err);
        for (unsigned long i = 0; i < count && status == PW_OK; i++)
                status = add_device(settings, word->text, name_length, (uint32_t)i, ret_err);
        return status;
}

uint32_t pw_settings_in_host(const struct pw_settings *settings)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < settings->kinds.count; i++)
                count += settings->kinds.of[i].in_host;
        return count;
}

uint64_t pw_settings_apart(const struct pw_settings *settings)
{
        uint64_t apart = 0;

        for (uint32_t i = 0; i < settings->kinds.count; i++)
                apart |= (uint64_t)settings->kinds.of[i].apart << i;
        return apart;
}

static enum pw_status find_devices(struct pw_settings *settings, struct pw_error *ret_err)
{
        struct device_word kind = { NULL, 0 }, word;
        enum pw_status status = PW_OK;

        settings->kinds.count = 0;
        for (const char *text = settings->devices; status == PW_OK && text;
             text = text[word.length] ? text + word.length + 1 : NULL) {
                text += strspn(text, " ");
                word = (struct device_word){ text, strcspn(text, ",") };
                status = add_devices(settings, &word, &kind, ret_err);
        }
        return status;
}

#define LIBRARY_MAX 255u /* what executors keep of a path */
static bool library_possible(const char *path) { return !path || (strlen(path) <= LIBRARY_MAX && !strchr(path, '\n')); }

/* And the devices are known. */
static enum pw_status check(struct pw_settings *settings, struct pw_error *ret_err)
{
        enum pw_log_level level;
        enum pw_status status = find_devices(settings, ret_err);

        if (status != PW_OK)
                return status;
        if (settings->islands < 1 || settings->islands > PW_ISLANDS_MAX || settings->islands > settings->kinds.count)
                return pw_error_set(ret_err, PW_INVALID, "--islands %u: from 1 to %u, and at most one per device (%u)",
                                    settings->islands, PW_ISLANDS_MAX, settings->kinds.count);
        if (settings->http) {
                struct pw_http_address address;

                status = pw_http_address_parse(settings->http, &address, ret_err);
        }
        if (status == PW_OK)
                status = pw_settings_log_level(settings, &level, ret_err);
        if (status == PW_OK)
                status = pw_policy_check(settings->policy, ret_err);
        if (status == PW_OK)
                status = check_durations(settings, ret_err);
        if (status == PW_OK)
                status = pw_metadata_check(settings, ret_err);
        if (status == PW_OK)
                status = pw_quotas_check(&settings->quotas, ret_err);
        if (status == PW_OK)
                status = pw_weights_check(&settings->weights, ret_err);
        if (status == PW_OK)
                status = pw_tenants_check(&settings->tenants, ret_err);
        if (status != PW_OK)
                return status;
        if (settings->socket_mode > 0777)
                return pw_error_set(ret_err, PW_INVALID, "--socket-mode %o: from 0 to 0777", settings->socket_mode);
        if (settings->device_memory && settings->device_memory < 4096)
                return pw_error_set(ret_err, PW_INVALID, "--device-memory: at least 4 KiB");
        if (!library_possible(settings->cuda_driver) || !library_possible(settings->nccl_library))
                return pw_error_set(ret_err, PW_INVALID, "--%s: the path of a library has at most %u bytes, in one line",
                                    library_possible(settings->cuda_driver) ? "nccl-library" : "cuda-driver", LIBRARY_MAX);
        if (settings->nccl_communicators < 1 || settings->nccl_communicators > 1024)
                return pw_error_set(ret_err, PW_INVALID, "--nccl-communicators %u: from 1 to 1024", settings->nccl_communicators);
        if (settings->ahead < 2 || settings->ahead > PW_ORDER_LOG / 4)
                return pw_error_set(ret_err, PW_INVALID, "--ahead %u: from 2 to %u", settings->ahead, PW_ORDER_LOG / 4);
        return PW_OK;
}

/* A refusal begins with "--NAME": where that stands in the config file, and not on the command line, the file and its line are
 * said. */
static void say_line(const struct pw_settings *settings, const uint32_t *lines, struct pw_error *err)
{
        char text[sizeof err->text];
        size_t bytes = strcspn(err->text, " :");

        memcpy(text, err->text, sizeof text);
        for (uint32_t i = 0; i < pw_settings_options.count && bytes > 2; i++)
                if (lines[i] && strlen(items[i].name) == bytes - 2 && !strncmp(items[i].name, text + 2, bytes - 2))
                        pw_error_set(err, PW_BAD_CONFIG, "%s:%u: %s", settings->config, lines[i], text + 2);
}

/* Lines of options that the command line has too do not count. */
static enum pw_status read_all(struct pw_settings *settings, uint32_t *ret_lines, int argc, char **argv, struct pw_error *ret_err)
{
        struct pw_settings alone = { 0 };
        uint32_t unused[pw_array_count(items)];
        enum pw_status status = pw_options_defaults(&pw_settings_options, &alone, ret_err);
        int operand;

        if (status == PW_OK)
                status = read_config(&alone, unused, argc, argv, ret_err);
        if (status == PW_OK)
                status = read_config(settings, ret_lines, argc, argv, ret_err);
        if (status == PW_OK)
                status = pw_options_parse(&pw_settings_options, settings, argc, argv, &operand, ret_err);
        for (uint32_t i = 0; i < pw_settings_options.count && status == PW_OK; i++)
                if (!pw_option_same(&items[i], settings, &alone))
                        ret_lines[i] = 0;
        if (status == PW_OK && operand < argc)
                status = pw_error_set(ret_err, PW_INVALID, "pathwaysd: takes no operand, got \"%s\"", argv[operand]);
        pw_settings_done(&alone);
        return status;
}

enum pw_status pw_settings_load(struct pw_settings *settings, int argc, char **argv, struct pw_error *ret_err)
{
        uint32_t lines[pw_array_count(items)] = { 0 };
        struct pw_error err;
        enum pw_status status;

        memset(settings, 0, sizeof *settings);
        status = pw_options_defaults(&pw_settings_options, settings, &err);
        if (status == PW_OK)
                status = read_all(settings, lines, argc, argv, &err);
        if (status == PW_OK) {
                status = check(settings, &err);
                if (status != PW_OK)
                        say_line(settings, lines, &err);
        }
        if (status == PW_OK)
                return PW_OK;
        status = pw_error_set(ret_err, err.status, "%s", err.text);
        pw_settings_done(settings);
        return status;
}

void pw_settings_done(struct pw_settings *settings)
{
        pw_options_free(&pw_settings_options, settings);
        memset(settings, 0, sizeof *settings);
}
