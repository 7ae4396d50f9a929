/* The losses of runs, read a window behind. */
#include "examples/common/losses.h"

#include "examples/common/failure.h"

#include <stdio.h>
#include <stdlib.h>

enum pw_status losses_start(struct losses *losses, size_t total, size_t rows, struct pw_error *err)
{
        *losses = (struct losses){ .mean = calloc(total, sizeof(double)), .rows = (double)rows, .total = total };
        return losses->mean ? PW_OK : failure(err, PW_NO_MEMORY, "the losses of the runs", "out of memory");
}

static enum pw_status read_oldest(struct losses *losses, struct pw_error *err)
{
        struct pw_future **loss = &losses->under_way[losses->read % LOSSES_WINDOW];
        struct pw_view view;
        enum pw_status status = pw_get(*loss, PW_FOREVER, &view, err);

        if (status != PW_OK)
                return status;
        double sum = view.dtype == PW_F64 ? *(const double *)view.data : *(const float *)view.data;
        double mean = losses->mean[losses->read++] = sum / losses->rows;
        pw_view_done(&view);
        pw_unref(*loss);
        *loss = NULL;
        progress_show(&losses->progress, losses->read, mean);
        return PW_OK;
}

enum pw_status losses_make_place(struct losses *losses, struct pw_error *err)
{
        return losses->added - losses->read == LOSSES_WINDOW ? read_oldest(losses, err) : PW_OK;
}

void losses_add(struct losses *losses, struct pw_future *loss)
{
        if (!losses->added)
                progress_start(&losses->progress, losses->total);
        losses->under_way[losses->added++ % LOSSES_WINDOW] = loss;
}

enum pw_status losses_finish(struct losses *losses, struct pw_error *err)
{
        enum pw_status status = PW_OK;

        while (losses->read < losses->added && status == PW_OK)
                status = read_oldest(losses, err);
        return status;
}

enum pw_status losses_write(const struct losses *losses, const char *path, struct pw_error *err)
{
        FILE *file;

        if (!path)
                return PW_OK;
        file = fopen(path, "w");
        for (size_t run = 0; file && run < losses->read; run++)
                fprintf(file, "%.15g\n", losses->mean[run]);
        if (!file || fclose(file))
                return failure(err, PW_SYSTEM, path, "it cannot be written");
        return PW_OK;
}

void losses_done(struct losses *losses)
{
        for (int i = 0; i < LOSSES_WINDOW; i++)
                pw_unref(losses->under_way[i]);
        free(losses->mean);
}
