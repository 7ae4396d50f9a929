/* A hash with a secret: who does not know it can choose no two texts that meet, nor many that crowd one place of a table. For
 * whatever others may choose. Equal bytes give equal keys; the caller compares the bytes.
 */
#ifndef PW_BASE_HASH_H
#define PW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct pw_hash_secret { uint64_t words[2]; }; /* random; all zero where nobody attacks, as in tests */

/* SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). */
uint64_t pw_hash(const struct pw_hash_secret *secret, const void *data, size_t bytes);
/* Of two texts, one behind the other. */
uint64_t pw_hash_pair(const struct pw_hash_secret *secret, const char *first, const char *second);

#endif
