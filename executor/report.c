/* Writing reports. */
#include "executor/report.h"

#include "plane/hint.h"

#include <stdio.h>

static void push(struct pw_launch *launch, const struct pw_report *report)
{
        struct pw_bells *bells = launch->given.bells;
        uint32_t self = launch->given.device, seen;

        if (pw_report_push(launch->own, report))
                return;
        atomic_store(&launch->own->report_waits, 1);
        for (seen = pw_bells_seen(bells, self); !pw_report_push(launch->own, report); seen = pw_bells_seen(bells, self)) {
                launch->given.around->doorbell(launch->given.around->context);
                pw_bells_sleep(bells, self, seen, pw_now_ns() + PW_BELLS_SLEEP_NS);
        }
        atomic_store(&launch->own->report_waits, 0);
}

static struct pw_report report_of(const struct pw_report_about *about, uint32_t result)
{
        return (struct pw_report){
                .run = about->view->run,
                .node = about->node,
                .status = about->fault->status,
                .result = result,
                .cause_node = about->fault->cause_node,
                .cause_device = about->fault->cause_device,
        };
}

void pw_report_cause(struct pw_launch *launch, const struct pw_report_about *about, const char *text)
{
        struct pw_report report = report_of(about, PW_NODE_NONE);

        snprintf(report.text, sizeof report.text, "%s", text);
        push(launch, &report);
}

void pw_report_value(struct pw_launch *launch, const struct pw_report_about *about, uint32_t value)
{
        const struct pw_image *image = about->view->program->image;
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);

        for (uint32_t r = 0; r < image->result_count; r++) {
                struct pw_report report = report_of(about, r);
                if (results[r].value == value)
                        push(launch, &report);
        }
}
