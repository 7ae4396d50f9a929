/* What a borrower and a lender say to each other over their link: values, with encode and decode beside.
 *
 * A *lender* has an object: its home, or, once that is lost, whoever has a whole replica. A *borrower* holds one reference there,
 * for all of its holders. A reference is named by the number of the OPEN that asked for it: numbers of OPEN and SEARCH
 * count up within what a borrower says to a lender, so that nothing that is said of one reference is ever taken for another. They
 * mean nothing in another term of the link.
 */
#ifndef PW_CLUSTER_BORROW_TALK_H
#define PW_CLUSTER_BORROW_TALK_H

#include "base/id.h"

struct pw_link_frame;

enum pw_talk_kind {
        PW_TALK_OPEN = 1, /* to a lender: hold `id`, an object of `tenant`; OPENED answers */
        /* from a lender: it is held, and what is known of it comes along; or, state PW_TALK_NONE, it is not: why is in `status` and
         * a sentence. PW_HOST_LOST: it is of an earlier life of that host */
        PW_TALK_OPENED,
        PW_TALK_TOLD,     /* from a lender: what is known now. From PENDING on to a value or error, from a value to ENDED */
        PW_TALK_RELEASE,  /* to a lender, after OPENED: nobody here holds it any more */
        PW_TALK_SEARCH,   /* to a lender: of which of these ids, whose home is lost, has it whole replicas? FOUND answers */
        PW_TALK_FOUND,    /* from a lender: of these */
        PW_TALK_DRAINS,   /* from a lender: it drains, and host `host` takes over what it has; from its own borrowers too */
        PW_TALK_TAKES,    /* from a lender: it has heard that it takes over from host `host`, and opens what it is asked for */
};
#define PW_TALK_KINDS PW_TALK_TAKES

/* What a lender has of an object. */
enum pw_talk_state {
        PW_TALK_NONE = 0,
        PW_TALK_PENDING,   /* not decided; what it is going to be may be known */
        PW_TALK_ELSEWHERE, /* ready there: its bytes are to be pulled */
        PW_TALK_WHOLE,     /* ready, and here it is */
        PW_TALK_FAILED,    /* an error: `status` and a sentence */
        PW_TALK_ENDED,     /* it was ready, and no memory there has it any more: likewise */
        PW_TALK_STATES
};
enum pw_talk_form { PW_TALK_PLAIN = 0, PW_TALK_SHARDED, PW_TALK_FORMS };

/* Borrowed bytes. */
struct pw_talk_bytes { const void *at; uint32_t count; };

struct pw_talk_known {
        enum pw_talk_state state;
        enum pw_status status;
        enum pw_talk_form form;
        enum pw_dtype dtype;
        struct pw_dims dims;
        uint64_t bytes;              /* of the value */
        struct pw_talk_bytes value;  /* of WHOLE: all of it */
        struct pw_talk_bytes text;   /* a sentence, without a 0 */
};

struct pw_talk_message {
        enum pw_talk_kind kind;
        uint64_t number;             /* of the OPEN or SEARCH; never 0, but of DRAINS and TAKES */
        struct pw_id id;             /* OPEN */
        struct pw_talk_bytes tenant; /* OPEN */
        struct pw_talk_known known;  /* OPENED, TOLD */
        struct pw_talk_bytes ids;    /* SEARCH, FOUND: PW_TALK_ID_BYTES each; pw_talk_id() */
        uint32_t host;               /* DRAINS, TAKES */
};

#define PW_TALK_VALUE_MAX 4096u /* bytes of a value that comes with what is known */
#define PW_TALK_TEXT_MAX 499u
#define PW_TALK_TENANT_MAX 255u
#define PW_TALK_IDS_MAX 256u
#define PW_TALK_ID_BYTES 16u

/* OPEN and SEARCH ask for work: they need a credit of the link; OPENED and FOUND give it back. */
static inline bool pw_talk_is_work(enum pw_talk_kind kind) { return kind == PW_TALK_OPEN || kind == PW_TALK_SEARCH; }
static inline bool pw_talk_is_answer(enum pw_talk_kind kind) { return kind == PW_TALK_OPENED || kind == PW_TALK_FOUND; }
/* It is for the lender of a host; all else is for its borrower. */
static inline bool pw_talk_is_for_lender(enum pw_talk_kind kind) { return pw_talk_is_work(kind) || kind == PW_TALK_RELEASE; }

/* The message as a frame of the link. NULL: out of memory. A longer sentence is cut. Own: the caller's, as of
 * pw_link_frame_new(). */
struct pw_link_frame *pw_talk_encode(const struct pw_talk_message *message);
/* What ret_message borrows lies in `bytes`. Errors: PW_PROTOCOL: another version, or anything that nobody would have encoded;
 * nothing of it is to be believed. */
PW_MUST_CHECK enum pw_status pw_talk_decode(const void *bytes, size_t length, struct pw_talk_message *ret_message,
                                            struct pw_error *ret_err);

/* The i-th of a message's ids, and how many there are. */
static inline uint32_t pw_talk_id_count(const struct pw_talk_message *message) { return message->ids.count / PW_TALK_ID_BYTES; }
struct pw_id pw_talk_id(const struct pw_talk_message *message, uint32_t i);
/* Writes one as it stands in a message. */
void pw_talk_put_id(uint8_t to[PW_TALK_ID_BYTES], struct pw_id id);

#endif
