/* The scripts that Redis runs for the hosts of a cluster: each checks the cluster's incarnation, and is one compare-and-set.
 *
 * The first key is the cluster's, pathways:{NAME}, a hash; the second, pathways:{NAME}:INCARNATION, is what all others begin with
 * (pathways-metadata(7)). A script answers an array whose first word says what came of it; answer.h lists these words.
 */
#ifndef PW_DAEMON_META_REDIS_SCRIPT_H
#define PW_DAEMON_META_REDIS_SCRIPT_H

enum pw_redis_script {
        PW_REDIS_JOIN,    /* found a cluster, take a number in one, or go on in it */
        PW_REDIS_BEAT,    /* renew this host's lease */
        PW_REDIS_HOSTS,   /* which rows of the host table changed since? */
        PW_REDIS_RESTORE, /* put rows back that were lost */
        PW_REDIS_NAME,    /* bind a name, end its binding, or read it */
        PW_REDIS_NAMES,   /* put bindings of this host back, or renew them */
        PW_REDIS_SCRIPTS
};

const char *pw_redis_script_text(enum pw_redis_script script);

#endif
