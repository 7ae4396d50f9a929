/* Writing reports. */
#include "executor/report.h"

#include "plane/hint.h"

#include <stdio.h>

static void push(struct pw_launch *launch, const struct pw_report *report)
{
        for (;;) {
                uint32_t seen = pw_bells_seen(launch->given.bells, launch->given.device);
                if (pw_report_push(launch->own, report))
                        return;
                launch->given.around->doorbell(launch->given.around->context);
                /* The daemon rings when it has read a full ring. Should it not, that costs a second look. */
                pw_futex_wait(&launch->given.bells->bell[launch->given.device].word, seen,
                              pw_now_ns() + PW_SECOND_LOOK_US * INT64_C(1000));
        }
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
