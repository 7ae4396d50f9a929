/* What an operator can set: one struct, one table; command line, config file, --help and the manual come from it.
 */
#ifndef PW_DAEMON_SETTINGS_SETTINGS_H
#define PW_DAEMON_SETTINGS_SETTINGS_H

#include "base/log.h"
#include "base/option.h"
#include "plane/board/board.h"

/* The devices of a host, and the kind of each: "emulated:4,cpu:2" are six, numbered so. apart: the processor does not read its
 * memory. in_host: that lies in the host's. kernels: it runs
 * functions by kernels. ordinal: which of its kind it is on the host: "cuda@0,2". */
struct pw_device_kinds {
        uint32_t count;
        struct { char name[16]; bool apart, in_host, kernels; uint32_t ordinal; } of[PW_DEVICES_MAX];
};

struct pw_settings {
        const char *config, *run_dir, *state_dir, *devices, *executor, *executor_user, *policy, *log_level, *http, *operators;
        const char *cuda_driver, *nccl_library, *nvml;
        const char *metadata, *cluster, *host_name, *redis_user, *redis_password_file;
        const char *listen, *tls_cert, *tls_key, *tls_ca, *secret_file;
        struct pw_text_list modules, quotas, weights, tenants;
        uint32_t islands, socket_mode, ahead, ready_fd, nccl_communicators;
        uint64_t host_memory, device_memory, launch_delay_us, copy_bandwidth, link_reserve;
        uint64_t shutdown_us, admit_us, function_limit_us, lease_us;
        struct pw_device_kinds kinds; /* what `devices` says */
        bool emulated_apart, no_nccl, nccl_nvls, new_cluster, redis_plaintext, help, version, help_mdoc, metrics_mdoc;
};

extern const struct pw_options pw_settings_options;

/* Defaults, then the config file, then the command line; checks what goes together.
 * Own: given back with pw_settings_done(). Errors: PW_INVALID, PW_BAD_CONFIG, PW_NOT_FOUND. */
PW_MUST_CHECK enum pw_status pw_settings_load(struct pw_settings *settings, int argc, char **argv, struct pw_error *ret_err);
/* Devices whose memory the processor does not read. */
uint64_t pw_settings_apart(const struct pw_settings *settings);
/* How many have their memory in the host's. */
uint32_t pw_settings_in_host(const struct pw_settings *settings);
void pw_settings_done(struct pw_settings *settings);

/* Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_settings_log_level(const struct pw_settings *settings, enum pw_log_level *ret_level,
                                                   struct pw_error *ret_err);

#endif
