/* What the files of a link share. Nobody else includes this. */
#ifndef PW_CLUSTER_LINK_LINK_PRIVATE_H
#define PW_CLUSTER_LINK_LINK_PRIVATE_H

#include "cluster/link/link.h"

/* link_frames.c */
/* Nothing of the term is kept: the next one begins with frame 1, and with a window for either side. */
void pw_link_forget(struct pw_link *link);
/* The other side has the frames up to `number`, which were sent; it may have said more since it wrote that. */
void pw_link_acknowledge(struct pw_link *link, uint64_t number);

#endif
