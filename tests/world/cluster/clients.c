/* Clients of the world's hosts, and what their opens come to. */
#include "tests/world/cluster/clients.h"

struct play play;

static void end_passing(struct passing *passing)
{
        if (!passing)
                return;
        if (passing->keeps)
                *passing->keeps = false;
        passing->is_there = false;
}

static struct object **free_handle(struct client *client)
{
        for (uint32_t i = 0; i < HANDLES; i++)
                if (!client->handles[i])
                        return &client->handles[i];
        return NULL;
}

/* Was a replica there, at a host that was there, since before the search began? That may have been for another open, as long before
 * as a host is waited for. */
static bool was_replica(uint32_t host, const struct thing *thing, uint64_t opened_us)
{
        uint64_t since_us = opened_us - 2 * LEASE_US;

        if (opened_us < 2 * LEASE_US || world->hosts[host].stopped_until_us > since_us)
                return false;
        for (uint32_t other = 1; other <= world->count; other++) {
                const struct object *object = other != host && world->hosts[other].borrow ? store_find(other, thing->id) : NULL;

                if (object && object->proxy && object->state == OBJECT_READY && object->since_us < since_us &&
                    hosts_in_one_term(host, other) && world->hosts[host].since_us[other] < since_us)
                        return true;
        }
        return false;
}

/* The host is lost, says an open. */
static void judge_lost(uint32_t host, const struct thing *thing, uint64_t opened_us)
{
        uint32_t home = pw_id_host(thing->id);
        const struct pw_link *link = world->hosts[host].links[home];
        const struct object *here = store_find(host, thing->id);

        hosts_must(home == host || world->hosts[host].ended[home] || world->hosts[home].epoch != thing->id.epoch,
                   "a host is lost that nobody gave up");
        hosts_must(!link || link->state != PW_LINK_UP || link->epoch != thing->id.epoch, "a host is lost, and it is there");
        hosts_must(!here || here->state != OBJECT_READY, "lost, and a replica is here");
        if (opened_us < world->now_us) /* else it was missed before */
                hosts_must(!was_replica(host, thing, opened_us), "lost, and a replica was there all the time");
}

/* What an open came to. */
static void judge(uint32_t host, const struct open *open, struct object *object, enum pw_status status)
{
        const struct thing *thing = open->thing;

        play.had += object != NULL;
        play.gone += status == PW_GONE;
        play.lost += status == PW_HOST_LOST;
        play.overdue += status == PW_DEADLINE;
        hosts_must(status == PW_OK || status == PW_GONE || status == PW_HOST_LOST || status == PW_DEADLINE || status == PW_LIMIT,
                   "an open ends in another way");
        hosts_must(!object || object->thing == thing, "an open has another object");
        if (status == PW_GONE)
                hosts_must(!thing->is_there, "gone, and it is there");
        if (status == PW_HOST_LOST)
                judge_lost(host, thing, open->since_us);
}

static void hold(struct client *client, uint32_t host, struct object *object)
{
        struct object **handle = free_handle(client);

        if (handle)
                *handle = object;
        else
                store_drop(host, object);
}

void client_answered(uint32_t host, uint64_t opener, struct object *object, const struct pw_error *err)
{
        for (uint32_t i = 0; i < CLIENTS; i++)
                for (uint32_t n = 0; n < OPENS; n++) {
                        struct open *open = &play.clients[host][i].opens[n], was = *open;

                        if (open->opener != opener)
                                continue;
                        memset(open, 0, sizeof *open);
                        hosts_must(err->status != PW_DEADLINE || world->now_us >= was.until_us, "overdue too early");
                        judge(host, &was, object, object ? PW_OK : err->status);
                        if (object)
                                hold(&play.clients[host][i], host, object);
                        end_passing(was.passing);
                        return;
                }
        hosts_must(false, "somebody is answered who does not wait");
}

void client_open(uint32_t host, uint32_t number, struct thing *thing, struct passing *passing, uint64_t deadline_us)
{
        struct client *client = &play.clients[host][number];
        struct object *object;
        enum pw_status status;

        for (uint32_t n = 0; n < OPENS; n++) {
                struct open *open = &client->opens[n];

                if (open->opener)
                        continue;
                *open = (struct open){ ++play.openers, world->now_us, world->now_us + deadline_us, thing, passing };
                status = store_open(host, thing, open->opener, open->until_us, &object);
                if (status == PW_NOT_READY)
                        return;
                judge(host, open, object, status);
                memset(open, 0, sizeof *open);
                if (object)
                        hold(client, host, object);
                break;
        }
        end_passing(passing);
}

void client_drop(uint32_t host, struct client *client, uint32_t i, bool at_once)
{
        struct object *object = client->handles[i];

        if (!object || (client->kept[i] && !at_once))
                return;
        client->handles[i] = NULL;
        store_drop(host, object);
}

static void hand_on(struct client *client, uint32_t i)
{
        for (uint32_t n = 0; n < PASSINGS; n++) {
                struct passing *passing = &play.passings[n];

                if (passing->is_there || !client->handles[i] || client->kept[i])
                        continue;
                *passing = (struct passing){ .is_there = true, .at_us = world->now_us + hosts_below(200000),
                                             .host = 1 + hosts_below(world->count), .client = hosts_below(CLIENTS),
                                             .thing = client->handles[i]->thing };
                if (hosts_below(2)) {
                        passing->keeps = &client->kept[i];
                        client->kept[i] = true;
                }
                return;
        }
}

void client_die(uint32_t host, uint32_t number, bool of_host)
{
        struct client *client = &play.clients[host][number];

        for (uint32_t n = 0; n < OPENS; n++) {
                if (client->opens[n].opener && !of_host)
                        pw_borrow_forget(world->hosts[host].borrow, client->opens[n].opener);
                end_passing(client->opens[n].passing);
        }
        memset(client->opens, 0, sizeof client->opens);
        for (uint32_t n = 0; n < PASSINGS; n++)
                if (play.passings[n].keeps >= client->kept && play.passings[n].keeps < client->kept + HANDLES)
                        play.passings[n].keeps = NULL;
        memset(client->kept, 0, sizeof client->kept);
        for (uint32_t i = 0; i < HANDLES && !of_host; i++)
                client_drop(host, client, i, true);
        memset(client->handles, 0, sizeof client->handles);
}

bool host_is_up(uint32_t host) { return world->hosts[host].borrow && world->now_us >= world->hosts[host].stopped_until_us; }

void clients_receive(void)
{
        for (uint32_t n = 0; n < PASSINGS; n++) {
                struct passing *passing = &play.passings[n];

                if (!passing->is_there || passing->is_read || passing->at_us > world->now_us)
                        continue;
                if (!host_is_up(passing->host)) {
                        end_passing(passing);
                        continue;
                }
                passing->is_read = true;
                client_open(passing->host, passing->client, passing->thing, passing,
                        hosts_below(4) ? 20 * SECOND : hosts_below(SECOND));
        }
}

void clients_act(uint32_t host)
{
        uint32_t number = hosts_below(CLIENTS), i = hosts_below(HANDLES);
        struct client *client = &play.clients[host][number];
        struct object *object = client->handles[i];

        if (!host_is_up(host))
                return;
        switch (hosts_below(12)) {
        case 0: case 1:
                if (!object)
                        client->handles[i] = store_put(host, hosts_below(2) ? 64 : LARGE_BYTES, hosts_below(2));
                break;
        case 2: case 3: case 4: case 5: hand_on(client, i); break;
        case 6: client_drop(host, client, i, false); break;
        case 7: case 8:
                if (object)
                        store_read(host, object);
                play.reads += object && object->state == OBJECT_READY;
                break;
        case 9: case 10:
                if (object && !object->proxy)
                        store_decide(host, object, hosts_below(6) ? OBJECT_READY : OBJECT_FAILED);
                break;
        default:
                if (hosts_below(12) == 0)
                        client_die(host, number, false);
                else if (object && !object->proxy && hosts_below(6) == 0)
                        store_decide(host, object, OBJECT_LOST);
        }
}
