/* Listings: what `pathways` prints. Each kind of listing fills rows; keys are documented in pathways(1) under --json.
 */
#ifndef PW_DAEMON_INSPECT_LIST_H
#define PW_DAEMON_INSPECT_LIST_H

#include "daemon/inspect/rows.h"

void pw_list_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ListRequest *request);

/* What a listing works on. */
struct pw_lister {
        struct pw_daemon *daemon;
        struct pw_dsession *session;
        struct pw_rows *rows;
        const char *filter;     /* "" for none */
        uint64_t now_us;
        struct pw_error *err;
        uint64_t run;           /* gangs: the run whose program was looked up last */
        const char *program, *tenant;
};

/* By kind; each returns PW_OK or an error in lister->err. */
enum pw_status pw_list_status(struct pw_lister *lister);   /* list_host.c */
enum pw_status pw_list_devices(struct pw_lister *lister);
enum pw_status pw_list_islands(struct pw_lister *lister);
enum pw_status pw_list_objects(struct pw_lister *lister);  /* list_store.c */
enum pw_status pw_list_memory(struct pw_lister *lister);
enum pw_status pw_list_check(struct pw_lister *lister);
enum pw_status pw_list_owners(struct pw_lister *lister);   /* list_owners.c */
enum pw_status pw_list_programs(struct pw_lister *lister); /* list_work.c */
enum pw_status pw_list_runs(struct pw_lister *lister);
enum pw_status pw_list_gangs(struct pw_lister *lister);
enum pw_status pw_list_object(struct pw_lister *lister);   /* list_object.c */
enum pw_status pw_list_why(struct pw_lister *lister);      /* why.c */

/* Cells of an object that listings share: state, bytes, age, dtype, dims, where. list_store.c */
struct pw_object_row;
void pw_list_value(struct pw_lister *lister, const struct pw_object_row *row);
/* May the session see what is of `tenant`? */
bool pw_list_visible(const struct pw_lister *lister, const char *tenant);

#endif
