/* How a child ended, and in what: in words. */
#include "daemon/child/child_end.h"

#include "base/text.h"
#include "daemon/session/complaint.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

bool pw_child_overran(const siginfo_t *info)
{
        return info->si_code == CLD_EXITED && info->si_status == PW_EXIT_OVERRUN;
}

/* In the words of its executor, where any byte may stand. */
static void say_device(const struct pw_child *child, char *text, size_t bytes)
{
        snprintf(text, bytes, "%.*s", (int)sizeof child->board->end_text, child->board->end_text);
        pw_text_make_plain(text);
}

/* "SIGSEGV", "exit status 3", or why the daemon killed it. */
static void say_how(const struct pw_child *child, const siginfo_t *info, char *text, size_t bytes)
{
        if (child->kill_reason[0])
                snprintf(text, bytes, "%s", child->kill_reason);
        else if (pw_child_overran(info))
                snprintf(text, bytes, "a function wrote past its output");
        else if (info->si_code == CLD_EXITED && info->si_status == PW_EXIT_DEVICE && child->board)
                say_device(child, text, bytes);
        else if (info->si_code == CLD_EXITED && info->si_status == PW_EXIT_DETACHED)
                snprintf(text, bytes, "a function closed its connection to pathwaysd");
        else if (info->si_code == CLD_EXITED)
                snprintf(text, bytes, "exit status %d", info->si_status);
        else
                snprintf(text, bytes, "SIG%s", sigabbrev_np(info->si_status) ? sigabbrev_np(info->si_status) : "?");
}

/* What the device says is of the gang that it does; what somebody else did is of none, and so of that one, too. */
static bool is_by_no_code(const siginfo_t *info)
{
        if (info->si_code == CLD_EXITED)
                return info->si_status == PW_EXIT_DEVICE || info->si_status == PW_EXIT_OVERRUN;
        return info->si_status == SIGKILL || info->si_status == SIGTERM;
}

/* What it was killed for; else one that launches its work behind what the device does is first to be blamed. */
static uint64_t ended_in(const struct pw_child *child, const siginfo_t *info)
{
        uint64_t seq = child->kill_seq;

        if (!child->board)
                return 0;
        if (!seq && !is_by_no_code(info) && !child->kill_reason[0])
                seq = atomic_load(&child->board->launching);
        seq = seq ? seq : atomic_load(&child->board->running);
        return seq > atomic_load(&child->board->done.seq) ? seq : 0;
}

void pw_child_end_note(struct pw_child *child, const siginfo_t *info)
{
        const struct pw_image_node *node;
        const char *name;

        say_how(child, info, child->ended_how, sizeof child->ended_how);
        child->ended_in[0] = 0;
        child->ended_seq = ended_in(child, info);
        if (child->ended_seq && pw_child_gang(child->daemon, child->number, child->ended_seq, &node, &name, &child->ended_run))
                snprintf(child->ended_in, sizeof child->ended_in, "%s", name);
}

void pw_child_name(const struct pw_child *child, char text[40])
{
        if (pw_child_describes(child))
                snprintf(text, 40, "describer");
        else
                snprintf(text, 40, "device h%u:%u", child->daemon->host, child->number);
}

/* "broken/crash of run 7", or "no gang". */
static void say_in_what(const struct pw_child *child, char *text, size_t bytes)
{
        if (child->ended_in[0])
                snprintf(text, bytes, "%s of run %" PRIu64, child->ended_in, child->ended_run);
        else
                snprintf(text, bytes, "no gang");
}

void pw_child_end_log(const struct pw_child *child)
{
        struct pw_daemon *daemon = child->daemon;
        char who[40], in_what[340], line[700];

        pw_child_name(child, who);
        say_in_what(child, in_what, sizeof in_what);
        snprintf(line, sizeof line, "executor ended who=\"%s\" pid=%d how=\"%s\" in=\"%s\" crashes=%u", who, (int)child->pid,
                 child->ended_how, in_what, child->crashes);
        if (daemon->phase >= PW_STOPPING)
                pw_log(&daemon->log, PW_LOG_DEBUG, "%s", line);
        else
                pw_complain(daemon, PW_LOG_OTHERS, "%s", line); /* functions of clients may end it again and again */
}
