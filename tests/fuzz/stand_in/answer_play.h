/* A program that calls libpathways, whatever the daemon's answers are: each call comes back.
 */
#ifndef PW_TESTS_FUZZ_STAND_IN_ANSWER_PLAY_H
#define PW_TESTS_FUZZ_STAND_IN_ANSWER_PLAY_H

#include "libclient/session.h"

#define ANSWER_FUTURES 3u /* the segment that ids of its objects name */

void answer_play(struct pw_session *session);

#endif
