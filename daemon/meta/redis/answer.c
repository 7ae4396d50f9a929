/* What an answer means. */
#include "daemon/meta/redis/answer.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>

struct meaning {
        const char *word;           /* how the answer, or the error, begins */
        enum pw_status status;
        enum pw_redis_act newcomer, member;
        const char *sentence;
};

/* Errors that Redis 7 gives are in its src/server.c and src/acl.c. */
static const struct meaning meanings[] = {
        [PW_REDIS_OK] = { "OK", PW_OK, PW_REDIS_GO_ON, PW_REDIS_GO_ON, "" },
        [PW_REDIS_TAKEN] = { "TAKEN", PW_OK, PW_REDIS_TELL, PW_REDIS_TELL, "" },
        [PW_REDIS_NOT_FOUND] = { "NOTFOUND", PW_OK, PW_REDIS_TELL, PW_REDIS_TELL, "" },
        [PW_REDIS_EMPTY] = { "EMPTY", PW_NOT_FOUND, PW_REDIS_HOLD, PW_REDIS_JOIN_ANEW,
                             "it has no cluster of this name; start a host that was of it, or found it with --new-cluster" },
        [PW_REDIS_RUN] = { "RUN", PW_NOT_READY, PW_REDIS_CALL_ANEW, PW_REDIS_CALL_ANEW, "it was started anew, or is another one" },
        [PW_REDIS_FENCED] = { "FENCED", PW_NOT_READY, PW_REDIS_JOIN_ANEW, PW_REDIS_JOIN_ANEW, "it lost this host's lease" },
        [PW_REDIS_UNCONFIRMED] = { "UNCONFIRMED", PW_NOT_READY, PW_REDIS_HOLD, PW_REDIS_JOIN_ANEW,
                                   "no living host of the cluster has confirmed what it says; start a host that was of it" },
        [PW_REDIS_SETTLING] = { "SETTLING", PW_NOT_READY, PW_REDIS_HOLD, PW_REDIS_HOLD,
                                "it began anew, and hosts put back what it had; it is tried again after two leases" },
        [PW_REDIS_IN_USE] = { "INUSE", PW_EXISTS, PW_REDIS_HOLD, PW_REDIS_HOLD,
                              "another daemon has this host's name, or had it a lease ago; if it is not this one's earlier start, "
                              "choose another with --host-name" },
        [PW_REDIS_FULL] = { "FULL", PW_LIMIT, PW_REDIS_HOLD, PW_REDIS_HOLD,
                            "all 65534 numbers of hosts are taken; one is free a day after its host was last there" },
        [PW_REDIS_EXISTS] = { "EXISTS", PW_EXISTS, PW_REDIS_GIVE_UP, PW_REDIS_GIVE_UP,
                              "a living cluster has this name; join it without --new-cluster, or choose another name" },
        [PW_REDIS_OTHER] = { "OTHER", PW_EXISTS, PW_REDIS_CALL_ANEW, PW_REDIS_HOLD,
                             "it has another cluster of this name; choose another Redis or name, or remove this host's state dir "
                             "to join that one" },
        [PW_REDIS_LOST] = { "LOST", PW_EXISTS, PW_REDIS_GIVE_UP, PW_REDIS_GIVE_UP,
                            "this host was away for more than a day, and its number went to another one; start it again to get a "
                            "new number" },
        [PW_REDIS_EPOCH] = { "EPOCH", PW_EXISTS, PW_REDIS_GIVE_UP, PW_REDIS_GIVE_UP,
                             "a later daemon of this host's name has its number; end one of them, or start this one again if the "
                             "state dir is an old copy" },
        [PW_REDIS_CLONE] = { "CLONE", PW_EXISTS, PW_REDIS_GIVE_UP, PW_REDIS_GIVE_UP,
                             "another daemon has the number and epoch of this host: one state dir is a copy of the other; remove "
                             "one, and choose another name for it with --host-name" },
        [PW_REDIS_NO_SCRIPT] = { "NOSCRIPT", PW_NOT_READY, PW_REDIS_HOLD, PW_REDIS_HOLD, "it keeps no scripts" },
        [PW_REDIS_PASSWORD] = { "", PW_DENIED, PW_REDIS_HOLD, PW_REDIS_HOLD,
                                "it does not take this user and password, or wants some; correct them" },
        [PW_REDIS_PERMISSION] = { "NOPERM", PW_DENIED, PW_REDIS_HOLD, PW_REDIS_HOLD,
                                  "the user lacks a permission; pathways-metadata(7) lists commands and keys" },
        [PW_REDIS_READ_ONLY] = { "READONLY", PW_UNSUPPORTED, PW_REDIS_CALL_ANEW, PW_REDIS_CALL_ANEW,
                                 "it is a replica, which can only be read; give the address of the one that it follows" },
        [PW_REDIS_OUT_OF_MEMORY] = { "OOM", PW_NO_SPACE, PW_REDIS_HOLD, PW_REDIS_HOLD,
                                     "it is out of memory; raise its maxmemory, or see what else fills it" },
        [PW_REDIS_NOT_NOW] = { "", PW_NOT_READY, PW_REDIS_HOLD, PW_REDIS_HOLD, "it is busy" },
        [PW_REDIS_DISK] = { "MISCONF", PW_SYSTEM, PW_REDIS_HOLD, PW_REDIS_HOLD,
                            "it takes nothing, as it cannot write to its disk; see its log" },
        [PW_REDIS_SPOILT] = { "WRONGTYPE", PW_PROTOCOL, PW_REDIS_HOLD, PW_REDIS_HOLD,
                              "a key of the cluster has another type than pathways-metadata(7) says, so somebody else writes "
                              "there; remove it with DEL" },
        [PW_REDIS_CLUSTERED] = { "", PW_UNSUPPORTED, PW_REDIS_HOLD, PW_REDIS_HOLD,
                                 "it is part of a Redis Cluster, or has other databases only; a Redis of its own is wanted" },
        [PW_REDIS_CUT] = { "", PW_NOT_READY, PW_REDIS_CALL_ANEW, PW_REDIS_CALL_ANEW, "the connection ended" },
        [PW_REDIS_STRANGE] = { "", PW_PROTOCOL, PW_REDIS_HOLD, PW_REDIS_HOLD, "it is no Redis of version 6.2 or later" },
};

_Static_assert(sizeof meanings / sizeof *meanings == PW_REDIS_WORDS, "each word has a meaning");

/* What is said to a host that has joined, where that is something else. */
static const char *const to_members[PW_REDIS_WORDS] = {
        [PW_REDIS_EMPTY] = "it has lost all that it had; hosts put it back, nothing new is bound for two leases",
};

/* Errors that mean the same as others. */
static const struct { const char *begins; enum pw_redis_word word; } errors[] = {
        { "WRONGPASS", PW_REDIS_PASSWORD }, { "NOAUTH", PW_REDIS_PASSWORD },         { "ERR AUTH", PW_REDIS_PASSWORD },
        { "ERR invalid password", PW_REDIS_PASSWORD }, { "ERR Client sent AUTH", PW_REDIS_PASSWORD },
        { "LOADING", PW_REDIS_NOT_NOW },    { "BUSY", PW_REDIS_NOT_NOW },            { "MASTERDOWN", PW_REDIS_NOT_NOW },
        { "ERR max number of clients", PW_REDIS_NOT_NOW },
        { "MOVED", PW_REDIS_CLUSTERED },    { "CLUSTERDOWN", PW_REDIS_CLUSTERED },   { "CROSSSLOT", PW_REDIS_CLUSTERED },
        { "NOREPLICAS", PW_REDIS_NOT_NOW }, { "DENIED", PW_REDIS_PERMISSION },
        { "ERR The user executing", PW_REDIS_PERMISSION },
};

static bool begins(const char *text, const char *with)
{
        return *with && !strncmp(text, with, strlen(with));
}

static enum pw_redis_word word_of_error(const char *error)
{
        for (uint32_t i = 0; i < pw_array_count(errors); i++)
                if (begins(error, errors[i].begins))
                        return errors[i].word;
        for (uint32_t i = PW_REDIS_NO_SCRIPT; i < PW_REDIS_WORDS; i++)
                if (begins(error, meanings[i].word))
                        return i;
        return PW_REDIS_STRANGE;
}

enum pw_redis_word pw_redis_word(const struct pw_redis_said *said)
{
        if (said->cut)
                return PW_REDIS_CUT;
        if (said->error)
                return word_of_error(said->error);
        for (uint32_t i = 0; said->count && i < PW_REDIS_NO_SCRIPT; i++)
                if (!strcmp(said->words[0], meanings[i].word))
                        return i;
        return PW_REDIS_STRANGE;
}

enum pw_redis_act pw_redis_act(enum pw_redis_word word, bool member)
{
        return member ? meanings[word].member : meanings[word].newcomer;
}

enum pw_status pw_redis_explain(enum pw_redis_word word, bool joined, const struct pw_redis_said *said, const char *address,
                                struct pw_error *ret_err)
{
        const struct meaning *meaning = &meanings[word];
        char theirs[160] = "";

        if (said && said->error)
                snprintf(theirs, sizeof theirs, "%s", said->error);
        pw_text_make_plain(theirs);
        return pw_error_set(ret_err, meaning->status != PW_OK ? meaning->status : PW_FAILED, "Redis at %s: %s%s%s%s", address,
                            joined && to_members[word] ? to_members[word] : meaning->sentence,
                            *theirs ? " (it says: " : "", theirs, *theirs ? ")" : "");
}

/* --- INFO -------------------------------------------------------------------------------------------------------------------- */

/* The value of a line "key:value"; NULL: there is none. */
static const char *value_of(const char *info, const char *key)
{
        size_t length = strlen(key);

        for (const char *line = info; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (!strncmp(line, key, length) && line[length] == ':')
                        return line + length + 1;
        }
        return NULL;
}

static int hex_digits(const char *text)
{
        return text ? (int)strspn(text, "0123456789abcdef") : 0;
}

static bool value_is(const char *value, const char *text)
{
        return value && !strncmp(value, text, strlen(text));
}

void pw_redis_server_read(const char *info, struct pw_redis_server *ret_server)
{
        const char *run = value_of(info, "run_id"), *replica = value_of(info, "master_replid");
        const char *maxmemory = value_of(info, "maxmemory"), *policy = value_of(info, "maxmemory_policy");
        const char *version = value_of(info, "redis_version");

        *ret_server = (struct pw_redis_server){ .read_only = value_is(value_of(info, "role"), "slave"),
                                                .evicts = maxmemory && !value_is(maxmemory, "0") && policy &&
                                                          !value_is(policy, "noeviction"),
                                                .major = version ? (uint32_t)strtoul(version, NULL, 10) : 0 };
        if (hex_digits(run) >= 16 && hex_digits(replica) >= 16)
                snprintf(ret_server->run, sizeof ret_server->run, "%.16s-%.16s", run, replica);
}
