/* What inspect/ has: listings and traces that were asked for.
 */
#ifndef PW_DAEMON_INSPECT_INSPECTION_H
#define PW_DAEMON_INSPECT_INSPECTION_H

#include "base/list.h"
#include "base/transition.h"
#include "daemon/session/listers.h"
#include "plane/board/board.h"

struct pw_inspection {
        struct pw_list listing;          /* lines of listings that were asked for, in turn */
        struct pw_listers of_hosts;      /* the line of those that other hosts asked for */
        struct pw_list traces;           /* sessions that trace */
        struct pw_list trace_logs;       /* what they are told of */
        struct pw_observer observer;     /* of changes of states; .tell NULL: nobody wants to know */
        uint64_t traced[PW_DEVICES_MAX]; /* of each device's history: how much was taken into the logs */
};

static inline void pw_inspection_init(struct pw_inspection *inspection)
{
        pw_list_init(&inspection->listing);
        pw_listers_init(&inspection->of_hosts);
        pw_list_init(&inspection->traces);
        pw_list_init(&inspection->trace_logs);
}

#endif
