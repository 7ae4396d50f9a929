/* Arenas: made, sent to the daemon, asked for, mapped. */
#include "executor/arenas.h"

#include "base/memory.h"
#include "libclient/socket/connection.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static enum pw_status map(struct pw_exec_arenas *arenas, uint32_t device, int fd, struct pw_error *ret_err)
{
        struct pw_arena arena = { .fd = fd, .own = device == arenas->device, .bytes = arenas->bytes };

        return arenas->memory->map(arenas->handle, &arena, &arenas->bases[device], ret_err);
}

/* Ask for it, or, of the own device, say that it was sent. */
static enum pw_status ask(struct pw_exec_arenas *arenas, uint32_t device, struct pw_answer *ret_answer, struct pw_error *ret_err)
{
        Pathways__Wire__Arena body = PATHWAYS__WIRE__ARENA__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        enum pw_status status;

        body.device = device;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_ARENA;
        request.arena = &body;
        status = pw_connection_call(arenas->connection, &request, ret_answer, ret_err);
        if (status != PW_OK)
                return status;
        if (ret_answer->reply->body_case == PATHWAYS__WIRE__REPLY__BODY_ARENA && ret_answer->fd_count == 1)
                return PW_OK;
        pw_answer_done(ret_answer);
        return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd answered a request for an arena with something else");
}

static enum pw_status mail(int mailbox, int fd, struct pw_error *ret_err)
{
        union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } room;
        struct iovec part = { (char[]){ 0 }, 1 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room };

        *CMSG_FIRSTHDR(&message) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET,
                                                     .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof fd);
        return sendmsg(mailbox, &message, MSG_NOSIGNAL) == 1 ? PW_OK : pw_error_errno(ret_err, errno, "sending an arena");
}

/* The first executor of a device makes it. */
static enum pw_status make(struct pw_exec_arenas *arenas, struct pw_error *ret_err)
{
        struct pw_answer answer;
        enum pw_status status = arenas->memory->make(arenas->handle, arenas->bytes, &arenas->own, ret_err);

        if (status == PW_OK)
                status = mail(arenas->mailbox, arenas->own, ret_err);
        if (status == PW_OK)
                status = ask(arenas, arenas->device, &answer, ret_err);
        if (status == PW_OK)
                pw_answer_done(&answer);
        return status;
}

enum pw_status pw_exec_arenas_open(struct pw_exec_arenas *arenas, const struct pw_exec_arenas_params *params,
                                   bool *ret_is_used, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        if (arenas->mailbox < 0)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd takes the memory of device %u for the processor's",
                                    params->device);
        arenas->connection = params->connection;
        arenas->memory = params->memory;
        arenas->handle = params->handle;
        arenas->device = params->device;
        arenas->bytes = params->bytes;
        *ret_is_used = arenas->own >= 0;
        if (!*ret_is_used)
                status = make(arenas, ret_err);
        return status == PW_OK ? map(arenas, params->device, arenas->own, ret_err) : status;
}

void pw_exec_arenas_take(struct pw_exec_arenas *arenas, int fd_take)
{
        *(arenas->mailbox < 0 ? &arenas->mailbox : &arenas->own) = fd_take;
}

void pw_exec_arenas_done(struct pw_exec_arenas *arenas)
{
        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++)
                if (arenas->bases[i])
                        arenas->memory->unmap(arenas->handle, arenas->bases[i], arenas->bytes);
        pw_close_fd(&arenas->mailbox);
        pw_close_fd(&arenas->own);
}

enum pw_status pw_exec_arenas_of(struct pw_exec_arenas *arenas, uint32_t device, uint8_t **ret_base, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        struct pw_answer answer;

        if (device >= PW_DEVICES_MAX)
                return pw_error_set(ret_err, PW_PROTOCOL, "a segment of device %u", device);
        if (!arenas->bases[device]) {
                status = ask(arenas, device, &answer, ret_err);
                if (status != PW_OK)
                        return status;
                status = map(arenas, device, answer.fds[0], ret_err);
                pw_answer_done(&answer);
        }
        *ret_base = arenas->bases[device];
        return status;
}
