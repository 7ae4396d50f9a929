/* The life of a transport, and what is due in it. */
#include "daemon/transport/handshake.h"

enum pw_status pw_transport_open(const char *kind_name, const struct pw_transport_params *params,
                                 struct pw_transport **ret_transport, struct pw_error *ret_err)
{
        const struct pw_transport_kind *kind = pw_transport_kind(kind_name);
        struct pw_transport *transport;
        enum pw_status status;

        if (!kind)
                return pw_error_set(ret_err, PW_NOT_FOUND, "there is no transport \"%.40s\"", kind_name);
        if (!pw_host_name_ok(params->host_name))
                return pw_error_set(ret_err, PW_BAD_CONFIG, "\"%.80s\" is no name of a host: letters, digits, '.', '-' and '_', "
                                    "%u at most", params->host_name, PW_HOST_NAME_MAX);
        transport = calloc(1, sizeof *transport);
        if (!transport)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a transport");
        pw_list_init(&transport->handshakes);
        pw_list_init(&transport->listeners);
        pw_list_init(&transport->dials);
        transport->loop = params->loop;
        transport->observer = params->observer;
        transport->handshake_us = params->handshake_us ? params->handshake_us : PW_HANDSHAKE_US;
        strcpy(transport->host_name, params->host_name);
        status = pw_crew_new(params->loop, &transport->crew, ret_err);
        if (status == PW_OK)
                status = kind->open(params, &transport->own, ret_err);
        if (status == PW_OK) {
                transport->kind = kind;
                *ret_transport = transport;
        } else {
                pw_transport_close(transport);
        }
        return status;
}

void pw_transport_close(struct pw_transport *transport)
{
        struct pw_listener *listener;
        struct pw_dial *dial;

        if (!transport)
                return;
        while ((listener = pw_listener_first(transport)))
                pw_listener_free(listener);
        while ((dial = pw_dial_first(transport)))
                pw_dial_free(dial);
        pw_crew_free(transport->crew);
        pw_handshakes_free(transport); /* those that were at work */
        if (transport->kind)
                transport->kind->close(transport->own);
        free(transport);
}

const struct pw_transport_kind *pw_transport_kind_of(const struct pw_transport *transport) { return transport->kind; }

void pw_transport_turn(struct pw_transport *transport, uint64_t now_us)
{
        for (struct pw_listener *at = pw_listener_first(transport); at; at = pw_listener_after(at))
                pw_listener_turn(at, now_us);
        pw_handshakes_turn(transport, now_us);
}

uint64_t pw_transport_next_us(const struct pw_transport *transport)
{
        uint64_t next_us = pw_handshakes_next_us(transport);

        for (struct pw_listener *at = pw_listener_first(transport); at; at = pw_listener_after(at))
                next_us = pw_min_u64(next_us, pw_listener_next_us(at));
        return next_us;
}
