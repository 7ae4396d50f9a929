/* Filling struct pw_error: one status and one sentence that names what, where and what to do.
 *
 * Every helper accepts ret_err NULL and returns the status, so that a failing function ends in
 *         return pw_error_set(ret_err, PW_NOT_FOUND, "module %s: not in %s", name, folder);
 */
#ifndef PW_BASE_ERROR_H
#define PW_BASE_ERROR_H

#include "pathways_types.h"

#include <stdarg.h>

/* Write status and sentence. Returns `status`, which is never PW_OK. */
enum pw_status pw_error_set(struct pw_error *ret_err, enum pw_status status, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
enum pw_status pw_error_setv(struct pw_error *ret_err, enum pw_status status, const char *format, va_list args)
        __attribute__((format(printf, 3, 0)));
/* The same with ": " and the text of errno value `number` behind it; status PW_SYSTEM. */
enum pw_status pw_error_errno(struct pw_error *ret_err, int number, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* Put "prefix: " before the sentence that is there; returns its status. Where `err` may be NULL its status is not known here:
 * return the one that the failed call gave. */
enum pw_status pw_error_prefix(struct pw_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Never PW_OK, as compilers can see: so they know that nobody reads the outputs of a call that failed. PW_OK as the status of
 * an error can only have come from somebody else's memory. */
static inline enum pw_status pw_status_failed(enum pw_status status) { return status != PW_OK ? status : PW_PROTOCOL; }
#define pw_error_set(...) pw_status_failed(pw_error_set(__VA_ARGS__))
#define pw_error_setv(...) pw_status_failed(pw_error_setv(__VA_ARGS__))
#define pw_error_errno(...) pw_status_failed(pw_error_errno(__VA_ARGS__))

/* True for a number that the table of statuses has; a number from a wire or a ring is checked so. */
bool pw_status_known(uint32_t number);
/* True for an error that a value can be ready with: not one that says it is not ready, or is about the session of who reads. */
static inline bool pw_status_of_value(uint32_t number)
{
        return pw_status_known(number) && number != PW_OK && number != PW_NOT_READY && number != PW_DAEMON_GONE &&
               number != PW_FORKED;
}
/* The error that somebody told by a number, which may be any: PW_FAILED for what no value can be ready with. */
static inline enum pw_status pw_status_told(uint32_t number)
{
        return pw_status_of_value(number) ? (enum pw_status)number : PW_FAILED;
}
/* The same of a shape function: what is wrong with the call, PW_SHAPE for all that says something else. */
static inline enum pw_status pw_status_of_call(uint32_t number)
{
        return pw_status_known(number) && number >= PW_INVALID && number < PW_NO_SPACE ? (enum pw_status)number : PW_SHAPE;
}

#endif
