/* Sessions by number, and what those who only know the record have done with them. */
#include "daemon/session/session.h"

struct pw_dsession *pw_session_get(const struct pw_registry *registry, uint32_t number)
{
        struct pw_dsession *session = pw_table_get(&registry->sessions, number);

        return session && !session->ended ? session : NULL;
}

void pw_session_end(struct pw_dsession *session, const char *why) { session->calls->end(session, why); }
void pw_session_mind(struct pw_dsession *session) { session->calls->mind(session); }
