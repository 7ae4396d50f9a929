/* What a run that is not admitted lacks: memory of a device or of its quota, and who holds that. */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/size.h"

#include <stdio.h>

#define OTHERS UINT32_MAX /* the program of what is of other tenants than the reader */
struct holder { uint32_t program; uint64_t bytes; uint32_t count; };

/* Whose results: those in a device, or those of a tenant. Of other tenants than the reader it is said how much they
 * hold together. */
struct held_of { const struct pw_device *device; const char *tenant, *reader; };

/* A room lies in the segment of its tenant, also when its program is gone. */
static bool is_of_tenant(const struct pw_scheduler *scheduler, const struct pw_room *room, const char *tenant)
{
        const struct pw_rooms *rooms = room->host == scheduler->host ? pw_device_rooms(scheduler->devices[room->device], tenant)
                                                                     : NULL;

        return rooms && rooms->segment == room->segment;
}

static bool is_of(const struct pw_scheduler *scheduler, const struct pw_room *room, const struct held_of *of)
{
        if (!of->device)
                return is_of_tenant(scheduler, room, of->tenant);
        return room->host == scheduler->host && room->device == of->device->number;
}

/* The programs whose results take most, largest first. */
static uint32_t find_holders(struct pw_scheduler *scheduler, const struct held_of *of, struct holder *ret_holders,
                             uint32_t capacity)
{
        struct pw_host_result *result;
        uint32_t count = 0;

        pw_list_each(&scheduler->host_results, result, struct pw_host_result, link)
                for (uint32_t i = 0; !result->donated && i < result->room_count; i++) {
                        uint32_t h = 0, program = is_of_tenant(scheduler, &result->rooms[i], of->reader) ? result->program : OTHERS;
                        if (!is_of(scheduler, &result->rooms[i], of))
                                continue;
                        while (h < count && ret_holders[h].program != program)
                                h++;
                        if (h == capacity)
                                continue;
                        if (h == count)
                                ret_holders[count++] = (struct holder){ .program = program };
                        ret_holders[h].bytes += result->rooms[i].bytes;
                        ret_holders[h].count++;
                }
        for (uint32_t i = 1; i < count; i++)
                for (uint32_t h = i; h && ret_holders[h].bytes > ret_holders[h - 1].bytes; h--) {
                        struct holder other = ret_holders[h];
                        ret_holders[h] = ret_holders[h - 1];
                        ret_holders[h - 1] = other;
                }
        return count;
}

static void list_holders(struct pw_scheduler *scheduler, const struct held_of *of, char *text, size_t text_bytes)
{
        struct holder holders[16];
        uint32_t count = find_holders(scheduler, of, holders, pw_array_count(holders));
        char size[16];
        size_t at = 0;

        text[0] = 0;
        for (uint32_t i = 0; i < count && i < 3 && at < text_bytes; i++) {
                const struct pw_program_row *row =
                        holders[i].program == OTHERS ? NULL : pw_scheduler_program(scheduler, holders[i].program);
                if (holders[i].program == OTHERS) {
                        at += (size_t)snprintf(text + at, text_bytes - at, "; %s held by other tenants",
                                               pw_size_format(holders[i].bytes, size));
                        continue;
                }
                at += (size_t)snprintf(text + at, text_bytes - at, "; %s held by tenant %s, %s: %u %s of %s",
                                       pw_size_format(holders[i].bytes, size), of->reader,
                                       row && row->client ? row->client : "a process that ended", holders[i].count,
                                       holders[i].count == 1 ? "result" : "results", row ? row->name : "a program that is gone");
        }
}

/* What its tenant has, and who of it. */
static void lack_of_quota(const struct pw_host_run *run, char *text, size_t text_bytes)
{
        const struct pw_device_quota *quota = run->program->quota;
        char lacks[16], used[16], size[16], blocks[16];
        size_t at;

        at = (size_t)snprintf(text, text_bytes, "tenant %s lacks %s: it has %s of its quota of %s of device memory", quota->tenant,
                              pw_size_format(run->short_bytes, lacks), pw_size_format(pw_quota_used(quota), used),
                              pw_size_format(quota->bytes, size));
        if (quota->used[PW_USE_BLOCK] && at < text_bytes)
                at += (size_t)snprintf(text + at, text_bytes - at, "; admitted runs hold %s",
                                       pw_size_format(quota->used[PW_USE_BLOCK], blocks));
        if (at < text_bytes)
                list_holders(run->program->scheduler, &(struct held_of){ NULL, quota->tenant, quota->tenant }, text + at,
                             text_bytes - at);
}

void pw_admission_lack(const struct pw_host_run *run, char *text, size_t text_bytes)
{
        struct pw_scheduler *scheduler = run->program->scheduler;
        const struct pw_device *device = scheduler->devices[run->short_device];
        char size[16];
        size_t at;

        if (run->over_quota && run->short_bytes) {
                lack_of_quota(run, text, text_bytes);
                return;
        }
        if (!device || !run->short_bytes) {
                snprintf(text, text_bytes, "runs that came earlier wait for memory of its devices");
                return;
        }
        at = (size_t)snprintf(text, text_bytes, "device h%u:%u lacks %s", scheduler->host, device->number,
                              pw_size_format(run->short_bytes, size));
        if (device->used[PW_USE_BLOCK] && at < text_bytes)
                at += (size_t)snprintf(text + at, text_bytes - at, "; admitted runs hold %s",
                                       pw_size_format(device->used[PW_USE_BLOCK], size));
        if (at < text_bytes)
                list_holders(scheduler, &(struct held_of){ device, NULL, run->program->row.tenant }, text + at, text_bytes - at);
}
