/* parameter-server: trains a classifier of hand-written digits by workers on devices of their own, for a server that holds the
 * weights. The two meet in objects and names only, so each may be attached to the daemon of another host.
 */
#include "examples/parameter-server/options.h"
#include "examples/parameter-server/server.h"
#include "examples/parameter-server/worker.h"
#include "pathways.h"

#include <stdio.h>

int main(int argc, char **argv)
{
        struct options options;
        struct pw_error err;

        options_read(argc, argv, &options);
        if (options.worker == OPTIONS_NO_WORKER) {
                if (server_run(&options, &err) == PW_OK)
                        return 0;
                fprintf(stderr, "parameter-server: %s\n", err.text);
        } else {
                if (worker_run(&options, &err) == PW_OK)
                        return 0;
                fprintf(stderr, "parameter-server: worker %u: %s\n", options.worker, err.text);
        }
        return 1;
}
