/* A wait, as the part that keeps it tells it to who asks (inspect/waits.h). */
#ifndef PW_DAEMON_WAIT_H
#define PW_DAEMON_WAIT_H

#include "base/id.h"

struct pw_dsession;
struct pw_object;

enum pw_wait_kind {
        PW_WAIT_KIND_OBJECT = 1,
        PW_WAIT_KIND_ROOM,
        PW_WAIT_KIND_NAME,
        PW_WAIT_KIND_METADATA, /* to bind or remove a name */
        PW_WAIT_KIND_SHAPE,
        PW_WAIT_KIND_COMPILE,
        PW_WAIT_KIND_OPENING,  /* an object of another host */
        PW_WAIT_KIND_BYTES,    /* of one that is opened, and ready elsewhere */
        PW_WAIT_KIND_NAMING    /* an object's home to bind or remove its name */
};

struct pw_wait_row {
        enum pw_wait_kind kind;
        struct pw_dsession *session;
        uint32_t lane, thread;        /* thread: its id; 0: not known */
        uint32_t segment, slot;       /* object: a claim of the client, to be looked up */
        struct pw_id id;              /* opening, naming */
        struct pw_object *object;     /* bytes: the proxy */
        uint64_t bytes, token;        /* room: of one; of the request */
        const char *name;             /* of an object, or of the function whose shapes a program needs */
        uint64_t since_us, until_us;  /* 0: not known; until UINT64_MAX: no deadline */
};

#endif
