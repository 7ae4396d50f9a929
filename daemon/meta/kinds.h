/* The kinds of metadata, for kinds.c alone.
 */
#ifndef PW_DAEMON_META_KINDS_H
#define PW_DAEMON_META_KINDS_H

#include "daemon/meta/meta.h"

extern const struct pw_meta_kind pw_meta_embedded, pw_meta_redis;

#endif
