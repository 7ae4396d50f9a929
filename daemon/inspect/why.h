/* Chains of causes: each link is a row that says what waits for what, since when, and what a person can do about it.
 *
 * A chain ends at a cause that somebody can act on, or where one link would repeat another. What belongs to other tenants is named
 * no further than "another tenant".
 */
#ifndef PW_DAEMON_INSPECT_WHY_H
#define PW_DAEMON_INSPECT_WHY_H

#include "daemon/inspect/list.h"
#include "daemon/inspect/waits.h"

struct pw_child;
struct pw_object;

struct pw_chain {
        struct pw_lister *lister;
        uint32_t depth;
        uint64_t devices; /* that it went through */
        uint32_t runs;    /* likewise, how many */
};
struct pw_cause_link { const char *what, *waits_for; uint64_t since_us; const char *remedy; }; /* since 0: not known */
void pw_chain_link(struct pw_chain *chain, const struct pw_cause_link *link);
bool pw_chain_full(const struct pw_chain *chain);

void pw_why_object(struct pw_chain *chain, struct pw_object *object);   /* why.c */
void pw_why_run(struct pw_chain *chain, uint64_t number);               /* why_run.c */
PW_MUST_CHECK enum pw_status pw_why_run_asked(struct pw_chain *chain, uint64_t number); /* PW_NOT_FOUND: never submitted */
void pw_why_device(struct pw_chain *chain, uint32_t device);            /* why_device.c */
/* An executor, or the describing one, that is down or stopped; false: it is neither. */
bool pw_why_child(struct pw_chain *chain, const struct pw_child *child, const char *what);
PW_MUST_CHECK enum pw_status pw_why_device_asked(struct pw_chain *chain, const char *text);
PW_MUST_CHECK enum pw_status pw_why_gang(struct pw_chain *chain, const char *text, uint64_t seq);
void pw_why_device_memory(struct pw_chain *chain, uint32_t device, uint64_t lack_bytes); /* why_memory.c */
void pw_why_host_memory(struct pw_chain *chain, const struct pw_wait_row *wait);
PW_MUST_CHECK enum pw_status pw_why_host_asked(struct pw_chain *chain, uint32_t host); /* why_host.c */
/* Everything that the threads of a session wait for; false: nothing. why_process.c */
bool pw_why_session(struct pw_chain *chain, struct pw_dsession *session);
/* Of all sessions of a process, by pid or by label, "digits[4411]". Errors: PW_NOT_FOUND. */
PW_MUST_CHECK enum pw_status pw_why_process(struct pw_chain *chain, const char *text);
/* A process that is stopped (SIGSTOP) answers nobody. */
bool pw_process_stopped(pid_t pid);

#endif
