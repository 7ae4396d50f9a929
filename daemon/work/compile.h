/* One program on its way from a request to an image: the steps that need nothing but values, for a thread beside the loop.
 *
 *   read      the frame becomes a graph; its slices and modules are names so far      -> the loop resolves them
 *   shape     checked, shaped call by call as far as answers are known                -> the loop asks the describing executor
 *   lower     the image, and the program as islands order it                          -> the loop installs it
 *   reply     what the client is told                                                 -> the loop sends it
 */
#ifndef PW_DAEMON_WORK_COMPILE_H
#define PW_DAEMON_WORK_COMPILE_H

#include "daemon/session/session.h"
#include "daemon/work/shape/shapes.h"

#define PW_COMPILE_MODULES_MAX 64u

/* A module that the program calls, as it is found when the program is compiled. */
struct pw_compile_module {
        char name[80];
        uint64_t digest;
        struct pw_error err; /* PW_OK: it was found */
};

/* What the loop is to do next. */
enum pw_compile_step { PW_COMPILE_RESOLVE = 1, PW_COMPILE_ASK, PW_COMPILE_INSTALL, PW_COMPILE_SEND, PW_COMPILE_FAILED };

struct pw_compile {
        uint64_t id;                        /* of the request */
        const struct pw_hash_secret *secret; /* of keys of questions; borrowed, like */
        struct pw_shapes *shapes;
        uint8_t *buffer;                    /* the frame lies in it; NULL once it is read */
        const uint8_t *payload;
        uint32_t bytes;
        struct pw_graph *graph;             /* NULL once it is lowered */
        struct pw_compile_module *modules;
        uint8_t *module_of;                 /* per call */
        uint32_t module_count;
        bool checked;
        struct pw_shape_query query;        /* ASK: what is asked, and then its answer */
        struct pw_function_facts facts;
        uint8_t *question;                  /* packed; NULL: too long to be kept */
        size_t question_bytes;
        uint64_t number, asked_count;       /* number: of the compilation, never used again */
        uint64_t ask_id;                    /* ASK, like */
        struct pw_outgoing *ask;
        bool answered;
        struct pw_program_row *program;     /* INSTALL: made, not known to the scheduler yet */
        uint64_t bytes_kept, shapes_bytes;  /* of memory, by it and in `shapes`, at the end of a step; 0: as before */
        uint64_t shortest_limit_us;         /* of its functions; 0: none has one */
        struct pw_outgoing *reply;          /* SEND */
        struct pw_image *image;             /* what the program was placed from; NULL: not yet */
        enum pw_compile_step step;
        struct pw_error err;                /* FAILED */
};

/* Own: `buffer_take`, in which the payload lies. */
void pw_compile_init(struct pw_compile *compile, uint8_t *buffer_take, const struct pw_frame *frame, uint64_t number);
void pw_compile_done(struct pw_compile *compile);
/* Each ends with compile->step. */
void pw_compile_read(struct pw_compile *compile);
/* `of`: whose the program is. */
void pw_compile_go_on(struct pw_compile *compile, const struct pw_program_of *of);
void pw_compile_reply(struct pw_compile *compile);
/* The answer to what was asked: outputs are in query.task. */
void pw_compile_answer(struct pw_compile *compile, enum pw_status status, const struct pw_function_facts *facts,
                       const struct pw_error *err);
/* It cannot be: PW_COMPILE_FAILED, named by its program. */
void pw_compile_fail(struct pw_compile *compile, enum pw_status status, const struct pw_error *err);

#endif
