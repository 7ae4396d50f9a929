/* Where ranks meet: a file that they map. Its path is the unique id; it is there from ncclGetUniqueId() until all have
 * joined, or all have left; one of a rank that is killed before that stays. */
#include "tests/fake_nccl/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void fake_nap(void)
{
        const struct timespec time = { .tv_nsec = 20000 };

        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* A file of zeros whose name did not exist. */
enum pw_nccl_result ncclGetUniqueId(struct pw_nccl_id *ret_id)
{
        enum pw_nccl_result result = fake_enter(FAKE_ncclGetUniqueId);
        int bytes, fd;

        if (result)
                return result;
        *ret_id = (struct pw_nccl_id){ { 0 } };
        bytes = snprintf(ret_id->bytes, sizeof ret_id->bytes, "%s/nccl-XXXXXX", fake_conf()->folder);
        if (bytes >= (int)sizeof ret_id->bytes)
                fake_abort("an id has no room for the path of %s: load the library from a shorter one", fake_conf()->folder);
        fd = mkostemp(ret_id->bytes, O_CLOEXEC);
        if (fd < 0 || ftruncate(fd, sizeof(struct fake_meeting)) < 0)
                fake_abort("%s: %s", ret_id->bytes, strerror(errno));
        close(fd);
        return PW_NCCL_SUCCESS;
}

struct fake_meeting *fake_meeting_open(const char *path)
{
        int fd = open(path, O_RDWR | O_CLOEXEC);
        void *memory = MAP_FAILED;

        if (fd >= 0) {
                memory = mmap(NULL, sizeof(struct fake_meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                close(fd);
        }
        return memory == MAP_FAILED ? NULL : memory;
}

enum pw_nccl_result fake_meeting_join(struct ncclComm *comm)
{
        struct fake_meeting *meeting = comm->meeting;
        uint32_t none = 0;

        if (!meeting)
                return fake_error(PW_NCCL_REMOTE_ERROR, "no rank has made that id, or its communicator is whole already");
        if (!atomic_compare_exchange_strong(&meeting->rank_count, &none, comm->rank_count) && none != comm->rank_count)
                return fake_error(PW_NCCL_INVALID_ARGUMENT, "ranks say different counts of them");
        atomic_store(&meeting->ranks[comm->rank].gpu, (uint32_t)comm->device);
        if (atomic_exchange(&meeting->ranks[comm->rank].has_joined, 1))
                return fake_error(PW_NCCL_INVALID_ARGUMENT, "two ranks have the same number");
        if (atomic_fetch_add(&meeting->joined, 1) + 1 == comm->rank_count)
                unlink(comm->path);
        return PW_NCCL_SUCCESS;
}

bool fake_meeting_is_whole(const struct ncclComm *comm)
{
        return atomic_load(&comm->meeting->joined) == comm->rank_count && !atomic_load(&comm->meeting->is_broken);
}

bool fake_meeting_has_twins(const struct ncclComm *comm)
{
        for (uint32_t i = 0; i < comm->rank_count; i++)
                for (uint32_t k = 0; k < i; k++)
                        if (atomic_load(&comm->meeting->ranks[i].gpu) == atomic_load(&comm->meeting->ranks[k].gpu))
                                return true;
        return false;
}

void fake_meeting_leave(struct ncclComm *comm)
{
        struct fake_meeting *meeting = comm->meeting;

        if (!meeting)
                return;
        if (atomic_load(&meeting->joined) != comm->rank_count)
                atomic_store(&meeting->is_broken, 1);
        if (atomic_fetch_add(&meeting->left, 1) + 1 == comm->rank_count)
                unlink(comm->path);
        munmap(meeting, sizeof *meeting);
}
