/* Links that are cut, hosts that give each other up, and meet again. */
#include "tests/world/hosts/play.h"

#include <stdlib.h>

static void clear(struct play_link *link)
{
        for (uint32_t i = 0; i < link->count; i++)
                free(link->frames[i].bytes);
        link->count = 0;
}

void play_cut(void)
{
        uint32_t a = play_below(PLAY_HOSTS), b = play_below(PLAY_HOSTS);

        if (a == b)
                return;
        clear(&play->links[a][b]);
        clear(&play->links[b][a]);
        play->links[a][b].cut = play->links[b][a].cut = true;
}

static void give_up(uint32_t from, uint32_t to)
{
        struct play_link *link = &play->links[from][to];

        if (!link->cut || link->given_up)
                return;
        link->given_up = true;
        pw_scheduler_give_up(play->hosts[to].scheduler, PLAY_FIRST + from, "it was not heard of", play->now_us);
        play_turn(to);
}

void play_give_up(void) { give_up(play_below(PLAY_HOSTS), play_below(PLAY_HOSTS)); }

void play_give_up_all(void)
{
        for (uint32_t i = 0; i < PLAY_HOSTS * PLAY_HOSTS; i++)
                give_up(i / PLAY_HOSTS, i % PLAY_HOSTS);
}

/* False: gangs are at work there for the other. */
static bool is_back(uint32_t from, uint32_t to)
{
        struct pw_error err;
        enum pw_status status;

        if (!play->links[from][to].given_up)
                return true;
        status = pw_scheduler_coordinator_add(play->hosts[to].scheduler, PLAY_FIRST + from, PLAY_EPOCH, &err);
        if (status != PW_OK && status != PW_BUSY)
                play_failed("a host is back", err.text);
        play->links[from][to].given_up = status != PW_OK;
        return status == PW_OK;
}

/* Each side has given the other up: who has not would hear of a new term first. */
void play_meet(void)
{
        uint32_t a = play_below(PLAY_HOSTS), b = play_below(PLAY_HOSTS);

        if (a == b || !play->links[a][b].cut)
                return;
        give_up(a, b);
        give_up(b, a);
        if (!is_back(a, b) || !is_back(b, a))
                return;
        play->links[a][b].cut = play->links[b][a].cut = false;
        play->met++;
}
