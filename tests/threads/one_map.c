/* mmap() and munmap() of this program: what is mapped shared is mapped once, as a whole file, with what any of its users may
 * do to it; whoever of the process maps a window of it again has the same addresses. The thread sanitizer tells memory apart by
 * these alone. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FILES 256u

/* A sanitizer's own start maps memory too, before it can note anything. */
#define UNSEEN \
        __attribute__((no_sanitize("thread"))) __attribute__((no_sanitize("address"))) __attribute__((no_sanitize("undefined")))

struct file { dev_t device; ino_t inode; size_t bytes; uint8_t *base; int protection; uint32_t users; };

static struct file files[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static UNSEEN void *really_map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
        void *(*next)(void *, size_t, int, int, int, off_t);
        void *found = dlsym(RTLD_NEXT, "mmap");

        memcpy(&next, &found, sizeof next);
        return next(address, bytes, protection, flags, fd, offset);
}

static UNSEEN int really_unmap(void *address, size_t bytes)
{
        int (*next)(void *, size_t);
        void *found = dlsym(RTLD_NEXT, "munmap");

        memcpy(&next, &found, sizeof next);
        return next(address, bytes);
}

/* That file, or an empty record; NULL: there is none left. */
static UNSEEN struct file *find(const struct stat *info)
{
        struct file *empty = NULL;

        for (uint32_t i = 0; i < FILES; i++) {
                if (!files[i].users)
                        empty = &files[i];
                else if (files[i].device == info->st_dev && files[i].inode == info->st_ino)
                        return &files[i];
        }
        return empty;
}

/* All of the file, once; the window is a part of that. A user who may do more than those before has it mapped again in its
 * place. */
static UNSEEN void *map_window(const struct stat *info, int protection, int flags, int fd, off_t offset)
{
        struct file *file = find(info);

        if (!file)
                return MAP_FAILED;
        if (!file->users || (protection & ~file->protection)) {
                bool first = !file->users;
                int both = first ? protection : protection | file->protection;
                void *base = really_map(first ? NULL : file->base, (size_t)info->st_size, both,
                                        first ? flags : flags | MAP_FIXED, fd, 0);

                if (base == MAP_FAILED)
                        return base;
                *file = (struct file){ info->st_dev, info->st_ino, (size_t)info->st_size, base, both, first ? 0 : file->users };
        }
        file->users++;
        return file->base + offset;
}

UNSEEN void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
        struct stat info;
        void *base;

        if (address || !(flags & MAP_SHARED) || fd < 0 || fstat(fd, &info) < 0 || (size_t)info.st_size < offset + bytes)
                return really_map(address, bytes, protection, flags, fd, offset);
        pthread_mutex_lock(&lock);
        base = map_window(&info, protection, flags, fd, offset);
        pthread_mutex_unlock(&lock);
        return base;
}

UNSEEN int munmap(void *address, size_t bytes)
{
        struct file *file = NULL;
        int result = 0;

        pthread_mutex_lock(&lock);
        for (uint32_t i = 0; i < FILES; i++)
                if (files[i].users && (uint8_t *)address >= files[i].base && (uint8_t *)address < files[i].base + files[i].bytes)
                        file = &files[i];
        if (!file)
                result = really_unmap(address, bytes);
        else if (!--file->users)
                result = really_unmap(file->base, file->bytes);
        pthread_mutex_unlock(&lock);
        return result;
}
