/* Who may go on with whom. */
#include "cluster/link/hello.h"

#include "base/host_name.h"

#include <string.h>

enum pw_status pw_hello_check(const struct pw_hello *own, const struct pw_hello *theirs, const char *proven,
                              struct pw_error *ret_err)
{
        if (theirs->version != own->version)
                return pw_error_set(ret_err, PW_UNSUPPORTED,
                                    "host %s speaks version %u of what daemons say to each other, this one %u: install one release "
                                    "on both", theirs->name, theirs->version, own->version);
        if (proven && !pw_host_name_equal(proven, theirs->name))
                return pw_error_set(ret_err, PW_DENIED,
                                    "who says that it is host %s has the certificate of %s: give each host a certificate of its "
                                    "own name, or see --host-name", theirs->name, proven);
        if (strcmp(theirs->cluster, own->cluster))
                return pw_error_set(ret_err, PW_DENIED, "host %s is of cluster %s, this one of %s: see --cluster", theirs->name,
                                    theirs->cluster, own->cluster);
        if (theirs->incarnation != own->incarnation)
                return pw_error_set(ret_err, PW_EXISTS,
                                    "host %s is of another cluster that is called %s too, founded apart (%016lx, this one %016lx): "
                                    "one of the two has to be given up, with the state dirs of its hosts", theirs->name,
                                    own->cluster, (unsigned long)theirs->incarnation, (unsigned long)own->incarnation);
        if (theirs->host == own->host)
                return pw_error_set(ret_err, PW_EXISTS,
                                    "host %s says that it has number %u, which is this host's, %s: a state dir that was copied; "
                                    "give each host one of its own", theirs->name, theirs->host, own->name);
        return PW_OK;
}
