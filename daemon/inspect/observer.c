/* Listings and traces, as clients reach them. */
#include "daemon/inspect/observer.h"

#include "daemon/inspect/list.h"
#include "daemon/inspect/trace/trace.h"

const struct pw_client_observer pw_inspect_observer = { .list = pw_list_request,
                                                        .trace = pw_trace_request,
                                                        .session_ended = pw_lists_session_end,
                                                        .session_freed = pw_trace_session_end,
                                                        .moved = pw_traces_moved };
