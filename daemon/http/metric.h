/* The metrics that /metrics exports, in Prometheus' text format 0.0.4. One table: text and manual come from it.
 */
#ifndef PW_DAEMON_HTTP_METRIC_H
#define PW_DAEMON_HTTP_METRIC_H

#include "daemon/daemon.h"

#include <stdio.h>

/* All of them, after a census, which counted `objects`. */
void pw_metrics_write(struct pw_daemon *daemon, const struct pw_store_counts *objects, FILE *out);
/* As mdoc(7) list items, for the manual page. */
void pw_metrics_mdoc(FILE *out);

#endif
