/* Segments of devices: one for each that a tenant has memory on. */
#include "daemon/memory/device.h"

#include "base/memory.h"
#include "daemon/memory/segment.h"

static enum pw_status add_device(struct pw_daemon *daemon, struct pw_tenant *tenant, uint32_t device, struct pw_error *ret_err)
{
        uint64_t bytes = pw_round_up(daemon->settings.device_memory, 4096);
        struct pw_segment *segment;
        enum pw_status status = pw_segment_new(daemon,
                                               &(struct pw_segment){ .layout = pw_segment_layout(PW_SEGMENT_DEVICE, 0, bytes),
                                                                     .tenant = tenant,
                                                                     .device = device,
                                                                     .apart = daemon->settings.kinds.of[device].apart },
                                               &segment, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_scheduler_segment(daemon->scheduler, device, tenant->name, segment->number, bytes, ret_err);
        if (status == PW_OK)
                tenant->devices[device] = segment;
        else
                pw_segment_remove(daemon, segment);
        return status;
}

enum pw_status pw_tenant_devices(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t device = 0; status == PW_OK && device < daemon->device_count; device++)
                if (!pw_scheduler_has_segment(daemon->scheduler, device, tenant->name))
                        status = add_device(daemon, tenant, device, ret_err);
        return status;
}
