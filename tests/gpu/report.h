/* What the programs of tests/gpu say: a line of JSON for each figure and each answer, on standard output; and how they are asked.
 */
#ifndef PW_TESTS_GPU_REPORT_H
#define PW_TESTS_GPU_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PROGRAM [--driver FILE] [--nccl FILE] [--no-bars] [--small]. Libraries that are not named are "": the usual ones. */
struct gpu_options {
        const char *driver, *nccl;
        bool bars;  /* figures are held against their bars */
        bool none_holds; /* --no-bar-holds: whatever they are, to see what is said then */
        bool small; /* less of everything: the GPU is the processor */
};
/* Ends the program where an option is unknown. */
struct gpu_options gpu_options_of(int argc, char **argv);

/* `value` of `unit`, beside the same of a floor that was measured in the same process (0: there is none). */
struct gpu_figure {
        const char *name, *unit;
        double value, floor, bar;
        enum {
                GPU_AT_LEAST,   /* value >= bar * floor: rates */
                GPU_AT_MOST,    /* value <= bar * floor: times */
                GPU_WITHIN,     /* value <= bar, of the same unit */
                GPU_NO_BAR,
        } rule;
        uint64_t count;         /* bytes or launches of one time; 0: not said */
};
/* Prints it; false: it is not what its bar asks for. */
bool gpu_figure_say(const struct gpu_options *options, const struct gpu_figure *figure);
void gpu_figure_skipped(const char *name, const char *why);

/* Of a question: a number, or a text. */
void gpu_answer(const char *question, double number);
void gpu_answer_text(const char *question, const char *text);

double gpu_now_s(void);

#endif
