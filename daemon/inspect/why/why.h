/* Chains of causes: each link is a row that says what waits for what, since when, and what a person can do about it.
 *
 * A chain ends at a cause that somebody can act on, or where one link would repeat another: no object, run or session is gone
 * through twice. What it goes through is made by clients, so an answer has a bound in depth, in things gone through and in time,
 * whether its rows fit or not. What belongs to other tenants is named no further than "another tenant".
 */
#ifndef PW_DAEMON_INSPECT_WHY_WHY_H
#define PW_DAEMON_INSPECT_WHY_WHY_H

#include "daemon/inspect/list.h"
#include "daemon/inspect/waits.h"

struct pw_child;
struct pw_object;

enum pw_visit { PW_VISIT_OBJECT = 1, PW_VISIT_RUN, PW_VISIT_SESSION };
#define PW_VISITS_MAX 256u /* of one answer */

struct pw_chain {
        struct pw_lister *lister;
        uint32_t depth;
        uint64_t devices;  /* that it went through */
        uint32_t runs;     /* likewise, how many */
        uint32_t inputs;   /* runs that were passed by, each waiting for the one before */
        uint64_t until_us; /* then nothing is gone through any more */
        bool cut;          /* something was not, for one of the bounds */
        uint32_t visited_count;
        struct { enum pw_visit kind; uint64_t number; } visited[PW_VISITS_MAX];
};
struct pw_cause_link { const char *what, *waits_for; uint64_t since_us; const char *remedy; }; /* since 0: not known */
void pw_chain_link(struct pw_chain *chain, const struct pw_cause_link *link);
#define PW_WHY_BYTES 900 /* of a sentence: names are told whole, so that what is copied from it works */
/* Nothing more is gone through: one of the bounds is reached, or a row did not fit. */
bool pw_chain_full(struct pw_chain *chain);
/* False: it was gone through before. Not asked when the chain is full. */
bool pw_chain_visit(struct pw_chain *chain, enum pw_visit kind, uint64_t number);

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
/* What a request for room of host memory waits for, by its token. */
void pw_why_room(struct pw_chain *chain, const struct pw_tenant *tenant, uint64_t token);
PW_MUST_CHECK enum pw_status pw_why_host_asked(struct pw_chain *chain, uint32_t host); /* why_host.c */
/* An object of another host that is not decided here, or whose bytes are not here; over the link with that host. why_peer.c */
void pw_why_foreign(struct pw_chain *chain, const char *tenant, struct pw_id id);
/* Who opens one, or wants its bytes. */
void pw_why_foreign_wait(struct pw_chain *chain, const struct pw_wait_row *wait);
/* The bytes of a value that nobody can read where it is (store/fetched.h); and who wants them. why_fetch.c */
void pw_why_fetch(struct pw_chain *chain, const struct pw_object *object);
void pw_why_fetch_wait(struct pw_chain *chain, const struct pw_wait_row *wait);
/* Who waits for the home of an object to bind or remove its name. */
void pw_why_naming(struct pw_chain *chain, const struct pw_wait_row *wait);
/* An id that somebody is opening; false: nobody is. */
bool pw_why_opened(struct pw_chain *chain, const char *text);
/* False: it is not known here. */
bool pw_why_other_host(struct pw_chain *chain, uint32_t number);
/* A host of the cluster, this one too, by its name there. */
bool pw_why_host_called(const struct pw_chain *chain, const char *name, uint32_t *ret_number);
/* Everything that the threads of a session wait for; false: nothing. What was gone through before is not again. why_process.c */
bool pw_why_session(struct pw_chain *chain, struct pw_dsession *session);
/* A name that nobody has bound, of the asker's tenant or, for operators, of any: who waits for it; false: nobody. */
bool pw_why_name(struct pw_chain *chain, const char *name);
/* Of all sessions of a process, by pid or by label, "digits[4411]". Errors: PW_NOT_FOUND. */
PW_MUST_CHECK enum pw_status pw_why_process(struct pw_chain *chain, const char *text);
/* A process that is stopped (SIGSTOP) answers nobody. */
bool pw_process_stopped(pid_t pid);
/* "`kill -CONT 12`" for an asker that is allowed to send it a signal, else who is to be asked; `option`: "-CONT " or "". */
#define PW_WHY_KILL_BYTES 64
char *pw_why_kill(const struct pw_chain *chain, const char *option, pid_t pid, char text[PW_WHY_KILL_BYTES]);

#endif
