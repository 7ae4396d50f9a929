/* Threads of bulk streams: chunks come in and go out, each with its head. */
#include "daemon/peer/pull/bulk_private.h"

#include "base/memory.h"
#include "cluster/pull/pull_message.h"

#include <errno.h>
#include <unistd.h>
#include <xxhash.h>

#define DROPPED_PIECE 65536u
#define PIECE 131072u /* between two looks whether it is still wanted */

void pw_bulk_report(struct pw_bulk *bulk, struct pw_bulk_task *job, enum pw_status status)
{
        bool first = pw_list_empty(&bulk->done);

        job->status = status;
        job->done_us = pw_now_us();
        pw_list_remove(&job->link);
        pw_list_append(&bulk->done, &job->link);
        if (first)
                (void)!TEMP_FAILURE_RETRY(write(bulk->pipe_fds[1], "", 1)); /* full: the loop is on its way */
}

/* The job that a head is of; NULL: nobody wants it any more. */
static struct pw_bulk_task *begin_job(struct pw_bulk_lane *lane, uint64_t ask)
{
        struct pw_bulk_task *job, *found = NULL;

        pthread_mutex_lock(&lane->bulk->lock);
        pw_list_each(&lane->jobs, job, struct pw_bulk_task, link)
                if (job->what.ask == ask)
                        found = job;
        if (found)
                pw_list_remove(&found->link);
        lane->current = found;
        lane->useful = true;
        pthread_mutex_unlock(&lane->bulk->lock);
        return found;
}

static void end_job(struct pw_bulk_lane *lane, enum pw_status status)
{
        pthread_mutex_lock(&lane->bulk->lock);
        if (status == PW_SYSTEM && lane->current->stop_us)
                status = PW_CANCELLED;
        pw_bulk_report(lane->bulk, lane->current, status);
        lane->current = NULL;
        pthread_mutex_unlock(&lane->bulk->lock);
}

static enum pw_status read_past(struct pw_bulk_stream *stream, uint32_t bytes)
{
        uint8_t space[DROPPED_PIECE];
        enum pw_status status = PW_OK;
        struct pw_error err;

        while (bytes && status == PW_OK) {
                struct iovec part = { space, pw_min_u64(bytes, sizeof space) };

                status = pw_bulk_stream_receive(stream, &part, 1, &err);
                bytes -= (uint32_t)part.iov_len;
        }
        return status;
}

static bool is_stopped(struct pw_bulk_lane *lane)
{
        bool stopped;

        pthread_mutex_lock(&lane->bulk->lock);
        stopped = lane->current->stop_us != 0;
        pthread_mutex_unlock(&lane->bulk->lock);
        return stopped;
}

/* Into the room, piece by piece, each summed while the processor has it, and its report. */
static enum pw_status receive_job(struct pw_bulk_lane *lane, struct pw_bulk_stream *stream, const struct pw_pull_head *head)
{
        const struct pw_bulk_job what = lane->current->what;
        enum pw_status status = head->bytes == what.bytes ? PW_OK : PW_PROTOCOL;
        struct pw_error err;
        uint32_t at = 0;

        (void)!XXH3_64bits_reset(lane->sum);
        while (at < what.bytes && status == PW_OK) {
                struct iovec part = { what.at + at, pw_min_u64(what.bytes - at, PIECE) };

                status = pw_bulk_stream_receive(stream, &part, 1, &err);
                at += (uint32_t)part.iov_len;
                if (status == PW_OK && at < what.bytes && is_stopped(lane)) {
                        end_job(lane, PW_CANCELLED);
                        return read_past(stream, what.bytes - at);
                }
                (void)!XXH3_64bits_update(lane->sum, part.iov_base, part.iov_len);
        }
        if (status != PW_OK)
                end_job(lane, PW_SYSTEM);
        else
                end_job(lane, XXH3_64bits_digest(lane->sum) == head->checksum ? PW_OK : PW_PROTOCOL);
        return status;
}

/* One chunk. Another status than PW_OK: the stream is of no more use. */
static enum pw_status receive_one(struct pw_bulk_lane *lane, struct pw_bulk_stream *stream)
{
        uint8_t bytes[PW_PULL_HEAD_BYTES];
        struct pw_pull_head head;
        struct pw_error err;
        enum pw_status status = pw_bulk_stream_receive(stream, &(struct iovec){ bytes, sizeof bytes }, 1, &err);

        if (status == PW_OK)
                status = pw_pull_head_decode(bytes, &head, &err);
        if (status != PW_OK)
                return status;
        return begin_job(lane, head.ask) ? receive_job(lane, stream, &head) : read_past(stream, head.bytes);
}

/* The next; NULL: the lane is to stop, or its stream is over: then it waits for the next stream. */
static struct pw_bulk_task *await_job(struct pw_bulk_lane *lane, struct pw_bulk_stream *stream)
{
        pthread_mutex_lock(&lane->bulk->lock);
        while (!lane->stop && pw_list_empty(&lane->jobs))
                pthread_cond_wait(&lane->changed, &lane->bulk->lock);
        lane->current = lane->stop || pw_bulk_stream_is_over(stream) ? NULL : pw_list_first(&lane->jobs, struct pw_bulk_task, link);
        if (lane->current)
                pw_list_remove(&lane->current->link);
        pthread_mutex_unlock(&lane->bulk->lock);
        return lane->current;
}

static enum pw_status send_one(struct pw_bulk_lane *lane, struct pw_bulk_stream *stream)
{
        struct pw_bulk_task *job = await_job(lane, stream);
        uint8_t bytes[PW_PULL_HEAD_BYTES];
        struct pw_error err;
        enum pw_status status;

        if (!job)
                return PW_CANCELLED;
        pw_pull_head_encode(&(struct pw_pull_head){ job->what.ask, XXH3_64bits(job->what.at, job->what.bytes), job->what.bytes },
                            bytes);
        status = pw_bulk_stream_send(stream, (struct iovec[2]){ { bytes, sizeof bytes }, { job->what.at, job->what.bytes } }, 2,
                                     &err);
        end_job(lane, status == PW_OK ? PW_OK : PW_SYSTEM);
        return status;
}

void pw_bulk_work(void *context, struct pw_bulk_stream *stream)
{
        struct pw_bulk_lane *lane = context;

        lane->sum = lane->sends ? NULL : XXH3_createState();
        while ((lane->sends || lane->sum) && (lane->sends ? send_one : receive_one)(lane, stream) == PW_OK) {
        }
        (void)XXH3_freeState(lane->sum);
        lane->sum = NULL;
}

