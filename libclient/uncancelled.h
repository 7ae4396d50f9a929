/* No call of the library is a cancellation point: pw_uncancelled at the head of a function keeps pthread_cancel(3) waiting until it
 * returns. Whatever the C library may cancel in (send, read, close, waiting for a condition) lies in such a function.
 */
#ifndef PW_LIBCLIENT_UNCANCELLED_H
#define PW_LIBCLIENT_UNCANCELLED_H

#include <pthread.h>

static inline int pw_cancel_off(void)
{
        int before = PTHREAD_CANCEL_ENABLE;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        return before;
}
static inline void pw_cancel_restore(const int *before) { pthread_setcancelstate(*before, NULL); }
#define pw_uncancelled __attribute__((cleanup(pw_cancel_restore), unused)) int cancellable = pw_cancel_off()

#endif
