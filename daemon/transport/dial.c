/* Calls to other hosts. */
#include "daemon/transport/handshake.h"
#include "daemon/transport/socket.h"

struct pw_dial {
        struct pw_list link;
        struct pw_transport *transport;
        void (*done)(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting, const struct pw_error *why);
        void *context;
};

static void ended(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting, const struct pw_error *why)
{
        struct pw_dial *dial = context;

        dial->done(dial->context, pipe_take, greeting, why);
}

static enum pw_status check(const struct pw_dial_params *params, struct pw_error *ret_err)
{
        if (params->ticket_bytes > PW_TICKET_MAX)
                return pw_error_set(ret_err, PW_INVALID, "a ticket of %u bytes, %u at most", params->ticket_bytes, PW_TICKET_MAX);
        if (params->expected && !pw_host_name_ok(params->expected))
                return pw_error_set(ret_err, PW_INVALID, "\"%.80s\" is no name of a host", params->expected);
        return PW_OK;
}

/* Own: the descriptor goes with the handshake. */
static enum pw_status call(struct pw_dial *dial, const struct pw_address *address, const struct pw_dial_params *params,
                           struct pw_error *ret_err)
{
        struct pw_greeting greeting = { .use = params->use, .ticket_bytes = params->ticket_bytes };
        struct pw_handshake_params shake = { .peer = address, .greeting = &greeting, .expected = params->expected, .ended = ended,
                                             .context = dial };
        struct pw_handshake *handshake;
        enum pw_status status = pw_socket_call(address, &shake.fd_take, ret_err);

        if (status != PW_OK)
                return status;
        strcpy(greeting.name, dial->transport->host_name);
        if (params->ticket_bytes)
                memcpy(greeting.ticket, params->ticket, params->ticket_bytes);
        status = pw_handshake_begin(dial->transport, &shake, &handshake, ret_err);
        if (status != PW_OK)
                close(shake.fd_take);
        return status;
}

enum pw_status pw_transport_dial(struct pw_transport *transport, const struct pw_dial_params *params, struct pw_dial **ret_dial,
                                 struct pw_error *ret_err)
{
        struct pw_address address;
        struct pw_dial *dial;
        enum pw_status status = check(params, ret_err);

        if (status == PW_OK)
                status = transport->kind->resolve(params->address, &address, ret_err);
        if (status != PW_OK)
                return status;
        dial = calloc(1, sizeof *dial);
        if (!dial)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory to call %s", params->address);
        dial->transport = transport;
        dial->done = params->done;
        dial->context = params->context;
        pw_list_append(&transport->dials, &dial->link);
        status = call(dial, &address, params, ret_err);
        if (status != PW_OK)
                pw_dial_free(dial);
        else
                *ret_dial = dial;
        return status;
}

void pw_dial_free(struct pw_dial *dial)
{
        if (!dial)
                return;
        pw_handshakes_drop(dial->transport, dial);
        pw_list_remove(&dial->link);
        free(dial);
}

struct pw_dial *pw_dial_first(const struct pw_transport *transport)
{
        return pw_list_empty(&transport->dials) ? NULL : pw_list_first(&transport->dials, struct pw_dial, link);
}
