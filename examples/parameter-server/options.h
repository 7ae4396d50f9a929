/* The command line of the program parameter-server.
 */
#ifndef PARAMETER_SERVER_OPTIONS_H
#define PARAMETER_SERVER_OPTIONS_H

#include <stdint.h>

#define OPTIONS_NO_WORKER UINT32_MAX
#define OPTIONS_NO_FD UINT32_MAX

struct options {
        uint32_t worker; /* this process is worker `worker`; OPTIONS_NO_WORKER: it is the server */
        uint32_t workers, started, devices, epochs, batch, levels;
        uint32_t staleness; /* steps; UINT32_MAX: any number */
        uint32_t patience;  /* seconds */
        uint32_t half_fd;   /* a line goes there when half of the steps are done; OPTIONS_NO_FD: nowhere */
        float rate;
        const char *run;    /* what the names begin with; NULL: something that no other run has */
        const char *socket, *sockets, *data, *loss_file;
};

/* Fills *ret, or prints help or what is wrong and ends the process. */
void options_read(int argc, char **argv, struct options *ret);

#endif
