/* What a program of ours looks after before anything else.
 */
#ifndef PW_BASE_STANDARD_H
#define PW_BASE_STANDARD_H

/* Descriptors 0, 1 and 2 are in use from then on: where one was closed it is one that cannot be read or written, so that no file or
 * socket opened later takes its place and is written to for it. A file that may grow no more is an error, and no signal that ends
 * the process. */
void pw_standard_begin(void);

#endif
