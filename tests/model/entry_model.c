/* The entry's word: two threads of a producer and the daemon at one entry, by the operations of plane/entry.h alone. */
#include "plane/entry.h"
#include "tests/model/models.h"

static struct {
        struct pw_entry entry;
        uint32_t took, taken_back;          /* who has the slot */
        uint32_t produced, failed, rung;    /* who decided; whether the daemon was told */
        bool watched;                       /* the daemon counts on being told */
        uint64_t decided;                   /* the word when it was decided first */
} at;

/* --- FREE: the client takes it twice, the daemon takes it back and grants it again ----------------------------------------- */

static void take(void *context)
{
        uint32_t generation;

        (void)context;
        if (pw_entry_take(&at.entry, &generation))
                at.took++;
}

static void take_back(void *context)
{
        uint64_t word = pw_entry_load(&at.entry);

        (void)context;
        if (pw_word_state(word) != PW_ENTRY_FREE ||
            !pw_entry_swap(&at.entry, &word, pw_word_make(PW_ENTRY_TAKEN, 0, pw_word_generation(word), PW_OK)))
                return;
        at.taken_back++;
}

static void take_begin(void)
{
        memset(&at, 0, sizeof at);
        at.entry.word = pw_word_make(PW_ENTRY_FREE, 0, 0xffffff, PW_OK); /* the next generation crosses the halves of the word */
        model_share(&at.entry, 8);
        model_share_plain(&at, sizeof at, NULL);
        model_thread("daemon", -1, false, take_back, NULL);
        model_thread("first", 0, false, take, NULL);
        model_thread("second", 1, false, take, NULL);
}

static void take_always(void) { model_must(at.took + at.taken_back <= 1, "a slot has two owners"); }

static void take_end(void)
{
        model_must(at.took + at.taken_back == 1 || model_kills(), "nobody got a free slot");
        model_must(!at.took || at.entry.word == pw_word_make(PW_ENTRY_PENDING, 0, 0x1000000, PW_OK),
                   "the generation did not count up");
}

const struct model entry_take_model = { "take", "two takers and the daemon at a free slot", take_begin, take_always,
                                        take_end, 1, NULL };

/* --- PENDING: two deciders, and the daemon that asks to be told, then cancels ------------------------------------------------ */

static void produce(void *context)
{
        uint64_t old;

        (void)context;
        if (!pw_entry_decide(&at.entry, 7, PW_OK, PW_ENTRY_FROZEN, UINT32_MAX, &old))
                return;
        at.produced++;
        if (pw_word_flags(old) & PW_ENTRY_RING)
                at.rung++;
}

static void cancel(void *context)
{
        uint64_t old;

        (void)context;
        at.watched = pw_entry_flag(&at.entry, PW_ENTRY_PENDING, 7, PW_ENTRY_RING, true);
        if (pw_entry_decide(&at.entry, 7, PW_CANCELLED, 0, 1000, &old)) {
                at.failed++;
                at.watched = false;
        }
}

static void decide_begin(void)
{
        memset(&at, 0, sizeof at);
        at.entry.word = pw_word_make(PW_ENTRY_PENDING, 0, 7, PW_OK);
        model_share(&at.entry, 8);
        model_share_plain(&at, sizeof at, NULL);
        model_thread("daemon", -1, false, cancel, NULL);
        model_thread("first", 0, false, produce, NULL);
        model_thread("second", 1, false, produce, NULL);
}

static void decide_always(void)
{
        model_must(at.produced + at.failed <= 1, "two have decided an entry");
        if (!at.decided && pw_word_decided(at.entry.word))
                at.decided = at.entry.word;
        model_must(!at.decided || at.decided == at.entry.word, "a value that was ready has changed");
}

static void decide_end(void)
{
        model_must(pw_word_decided(at.entry.word), "nobody has decided");
        model_must(at.produced || at.failed || model_kills(), "decided by nobody");
        model_must(!at.watched || at.rung || model_kills(), "the daemon asked to be rung and was not");
        model_must(!at.produced || pw_word_state(at.entry.word) == PW_ENTRY_READY, "an error lies over a value");
}

const struct model entry_decide_model = { "decide", "two producers and a daemon that wants to be rung, then cancels", decide_begin,
                                          decide_always, decide_end, 1, NULL };
