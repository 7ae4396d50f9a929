/* Memory of the fake: who may touch what, how long it lives, and in which process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fake_cuda/fixture.h"

#include "base/memory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Bytes of the device, as the host sees them. */
static void expect(const struct fake *fake, unsigned long long address, const char *text)
{
        char bytes[64] = "";

        GOOD(fake->driver->cuMemcpyDtoHAsync(bytes, address, strlen(text) + 1, fake->stream));
        assert_string_equal(bytes, text);
}

static void write_text(const struct fake *fake, unsigned long long address, const char *text)
{
        GOOD(fake->driver->cuMemcpyHtoDAsync(address, text, strlen(text) + 1, fake->stream));
}

static void maps(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        const struct pw_cuda_allocation allocation = fake_allocation(0), of_none = fake_allocation(4);
        const struct pw_cuda_access access = { { PW_CUDA_LOCATION_DEVICE, 0 }, PW_CUDA_ACCESS_READ_WRITE };
        const struct pw_cuda_access readable = { { PW_CUDA_LOCATION_DEVICE, 0 }, PW_CUDA_ACCESS_READ };
        unsigned long long handle, address, again;
        size_t granularity;

        GOOD(cuda->cuMemGetAllocationGranularity(&granularity, &allocation, PW_CUDA_GRANULARITY_MINIMUM));
        assert_int_equal(granularity, 2 * MIB);
        GIVES(INVALID_VALUE, cuda->cuMemCreate(&handle, MIB, &allocation, 0));
        GIVES(INVALID_DEVICE, cuda->cuMemCreate(&handle, 2 * MIB, &of_none, 0));
        GOOD(cuda->cuMemCreate(&handle, 2 * MIB, &allocation, 0));
        GIVES(INVALID_VALUE, cuda->cuMemAddressReserve(&address, MIB, 0, 0, 0));
        GOOD(cuda->cuMemAddressReserve(&address, 4 * MIB, 0, 0, 0));
        GIVES(INVALID_VALUE, cuda->cuMemMap(address, 4 * MIB, 0, handle, 0));
        GOOD(cuda->cuMemMap(address, 2 * MIB, 0, handle, 0));
        GIVES(ALREADY_MAPPED, cuda->cuMemMap(address, 2 * MIB, 0, handle, 0));
        GIVES(INVALID_VALUE, cuda->cuMemsetD8Async(address, 1, 8, fake->stream));
        GIVES(INVALID_VALUE, cuda->cuMemSetAccess(address, 4 * MIB, &access, 1));
        GOOD(cuda->cuMemSetAccess(address, 2 * MIB, &access, 1));
        write_text(fake, address, "here");
        expect(fake, address, "here");
        GOOD(cuda->cuMemSetAccess(address, 2 * MIB, &readable, 1));
        GIVES(INVALID_VALUE, cuda->cuMemsetD8Async(address, 1, 8, fake->stream));
        expect(fake, address, "here");
        GIVES(INVALID_VALUE, cuda->cuMemcpyDtoDAsync(address + 2 * MIB - 8, address, 16, fake->stream));
        GIVES(INVALID_VALUE, cuda->cuMemAddressFree(address, 4 * MIB));
        GIVES(INVALID_VALUE, cuda->cuMemUnmap(address + MIB, MIB));
        GOOD(cuda->cuMemUnmap(address, 2 * MIB));
        GIVES(INVALID_VALUE, cuda->cuMemcpyDtoDAsync(address, address, 8, fake->stream));
        GOOD(cuda->cuMemAddressFree(address, 4 * MIB));
        GOOD(cuda->cuMemAddressReserve(&again, 2 * MIB, 0, address, 0));
        assert_int_equal(again, address);
        GOOD(cuda->cuMemRelease(handle));
        GIVES(INVALID_VALUE, cuda->cuMemRelease(handle));
}

static void test_maps(void **state)
{
        (void)state;
        fake_try("", maps);
}

/* What was made readable to device 0 only is nothing to device 1. */
static void is_another_devices(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long handle, address = fake_map(fake, 2 * MIB, &handle);
        const struct pw_cuda_access access = { { PW_CUDA_LOCATION_DEVICE, 1 }, PW_CUDA_ACCESS_READ_WRITE };
        struct CUstream_st *stream;
        struct CUctx_st *other;

        GOOD(cuda->cuDevicePrimaryCtxRetain(&other, 1));
        GOOD(cuda->cuCtxSetCurrent(other));
        GOOD(cuda->cuStreamCreate(&stream, 0));
        GIVES(INVALID_VALUE, cuda->cuMemsetD8Async(address, 1, 8, stream));
        GOOD(cuda->cuMemSetAccess(address, 2 * MIB, &access, 1));
        GOOD(cuda->cuMemsetD8Async(address, 'x', 8, stream));
        GOOD(cuda->cuMemsetD8Async(address + 8, 0, 1, stream));
        GOOD(cuda->cuStreamSynchronize(stream));
        GOOD(cuda->cuCtxSetCurrent(fake->context));
        expect(fake, address, "xxxxxxxx");
}

static void test_devices(void **state)
{
        (void)state;
        fake_try("", is_another_devices);
}

static void touches(struct fake *fake)
{
        unsigned long long handle, address = fake_map(fake, 2 * MIB, &handle);

        *(volatile char *)(uintptr_t)address = 1;
}

static void test_not_the_processors(void **state)
{
        (void)state;
        fake_dies("", touches, SIGSEGV, NULL);
}

static int ends[2]; /* of a socket between the processes of a test */

static void fd_send(int fd)
{
        union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof fd)]; } control = { 0 };
        struct iovec data = { .iov_base = (char[]){ 1 }, .iov_len = 1 };
        struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };

        control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        assert_int_equal(sendmsg(ends[0], &message, 0), 1);
}

static int fd_receive(void)
{
        int fd;
        union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof fd)]; } control = { 0 };
        struct iovec data = { .iov_base = (char[]){ 0 }, .iov_len = 1 };
        struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };

        assert_int_equal(recvmsg(ends[1], &message, MSG_CMSG_CLOEXEC), 1);
        memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
        return fd;
}

static void exports(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long handle, address = fake_map(fake, 2 * MIB, &handle), other;
        struct pw_cuda_allocation own = fake_allocation(0);
        int fd;

        write_text(fake, address + MIB, "of the other");
        own.handle_kind = PW_CUDA_HANDLE_NONE;
        GOOD(cuda->cuMemCreate(&other, 2 * MIB, &own, 0));
        GIVES(INVALID_VALUE, cuda->cuMemExportToShareableHandle(&fd, other, PW_CUDA_HANDLE_FD, 0));
        GOOD(cuda->cuMemExportToShareableHandle(&fd, handle, PW_CUDA_HANDLE_FD, 0));
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        fd_send(fd);
}

static unsigned long long import(const struct fake *fake, int fd)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        const struct pw_cuda_access access = { { PW_CUDA_LOCATION_DEVICE, 0 }, PW_CUDA_ACCESS_READ_WRITE };
        unsigned long long handle, address;

        GOOD(cuda->cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, PW_CUDA_HANDLE_FD));
        GOOD(cuda->cuMemAddressReserve(&address, 2 * MIB, 0, 0, 0));
        GOOD(cuda->cuMemMap(address, 2 * MIB, 0, handle, 0));
        GOOD(cuda->cuMemRelease(handle));
        GOOD(cuda->cuMemSetAccess(address, 2 * MIB, &access, 1));
        return address;
}

/* The process that made it is gone. A map holds it too, without handle and descriptor. */
static void imports(struct fake *fake)
{
        int fd = fd_receive(), foreign = memfd_create("foreign", MFD_CLOEXEC);
        unsigned long long first, second;

        GIVES(INVALID_VALUE,
              fake->driver->cuMemImportFromShareableHandle(&first, (void *)(intptr_t)foreign, PW_CUDA_HANDLE_FD));
        close(foreign);
        first = import(fake, fd);
        second = import(fake, fd);
        close(fd);
        expect(fake, first + MIB, "of the other");
        write_text(fake, first, "an answer");
        expect(fake, second, "an answer");
        GOOD(fake->driver->cuMemUnmap(first, 2 * MIB));
        expect(fake, second, "an answer");
}

static void test_export(void **state)
{
        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
        fake_try("", exports);
        fake_try("", imports);
        close(ends[0]);
        close(ends[1]);
}

static uint64_t free_bytes(const struct fake *fake)
{
        size_t bytes, total;

        GOOD(fake->driver->cuMemGetInfo(&bytes, &total));
        assert_int_equal(total, 16 * MIB);
        return bytes;
}

static void fills(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        const struct pw_cuda_allocation allocation = fake_allocation(0);
        unsigned long long handle, address = fake_map(fake, 8 * MIB, &handle), small, none;

        assert_int_equal(free_bytes(fake), 8 * MIB);
        GIVES(OUT_OF_MEMORY, cuda->cuMemCreate(&none, 10 * MIB, &allocation, 0));
        GOOD(cuda->cuMemAlloc(&small, 6 * MIB + 1));
        assert_int_equal(free_bytes(fake), 0);
        GIVES(OUT_OF_MEMORY, cuda->cuMemAlloc(&none, 1));
        GIVES(INVALID_VALUE, cuda->cuMemsetD8Async(small, 0, 6 * MIB + 2, fake->stream));
        GOOD(cuda->cuMemsetD8Async(small, 0, 6 * MIB + 1, fake->stream));
        GIVES(INVALID_VALUE, cuda->cuMemFree(small + 8));
        GOOD(cuda->cuMemFree(small));
        GIVES(INVALID_VALUE, cuda->cuMemFree(small));
        GOOD(cuda->cuMemRelease(handle));
        assert_int_equal(free_bytes(fake), 8 * MIB);
        GOOD(cuda->cuMemUnmap(address, 8 * MIB));
        assert_int_equal(free_bytes(fake), 16 * MIB);
}

static void test_capacity(void **state)
{
        (void)state;
        fake_try("capacity = 16777216\n", fills);
}

static void pins(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        char *memory = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        unsigned long long handle, address = fake_map(fake, 4 * MIB, &handle), host;

        GOOD(cuda->cuMemHostRegister(memory + MIB, MIB, PW_CUDA_HOST_REGISTER_PORTABLE));
        GIVES(HOST_MEMORY_ALREADY_REGISTERED, cuda->cuMemHostRegister(memory, 2 * MIB, 0));
        GOOD(cuda->cuMemHostRegister(memory, MIB, 0));
        GOOD(cuda->cuMemHostUnregister(memory));
        GIVES(HOST_MEMORY_NOT_REGISTERED, cuda->cuMemHostUnregister(memory));
        GIVES(HOST_MEMORY_NOT_REGISTERED, cuda->cuMemHostUnregister(memory + MIB + 8));
        GIVES(INVALID_VALUE, cuda->cuMemHostGetDevicePointer(&host, memory, 0));
        GOOD(cuda->cuMemHostGetDevicePointer(&host, memory + MIB + 8, 0));
        assert_int_equal(host, (uintptr_t)memory + MIB + 8);
        GIVES(INVALID_VALUE, cuda->cuMemcpyHtoDAsync(address, memory, 2 * MIB, fake->stream));
        GIVES(INVALID_VALUE, cuda->cuMemcpyHtoDAsync(address, (void *)(uintptr_t)address, 8, fake->stream));
        GOOD(cuda->cuMemcpyDtoDAsync(host, address, 8, fake->stream));
        assert_int_equal(mprotect(memory, MIB, PROT_READ), 0);
        GIVES(INVALID_VALUE, cuda->cuMemHostRegister(memory, MIB, 0));
        GOOD(cuda->cuMemHostRegister(memory, MIB, PW_CUDA_HOST_REGISTER_READ_ONLY));
        GIVES(INVALID_VALUE, cuda->cuMemcpyDtoHAsync(memory, address, 8, fake->stream));
        GIVES(INVALID_VALUE, cuda->cuMemcpyDtoDAsync((uintptr_t)memory, address, 8, fake->stream));
        GOOD(cuda->cuMemcpyHtoDAsync(address, memory, 8, fake->stream));
        assert_int_equal(munmap(memory + 3 * MIB, MIB / 2), 0);
        GIVES(INVALID_VALUE, cuda->cuMemHostRegister(memory + 2 * MIB, 2 * MIB, 0));
        GIVES(INVALID_VALUE, cuda->cuMemFreeHost(memory + MIB));
        GOOD(cuda->cuMemFreeHost(fake->word));
        GOOD(cuda->cuStreamSynchronize(fake->stream));
}

/* What is registered stays as it was when its file is punched. */
static void pages_stay(struct fake *fake)
{
        const struct pw_cuda_driver *cuda = fake->driver;
        unsigned long long handle, address = fake_map(fake, 4 * MIB, &handle);
        int fd = memfd_create("pages", MFD_CLOEXEC);
        char *memory, *written;

        assert_int_equal(ftruncate(fd, MIB), 0);
        written = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        memory = mmap(NULL, MIB, PROT_READ, MAP_SHARED, fd, 0);
        strcpy(written, "old");
        GOOD(cuda->cuMemHostRegister(memory, MIB, PW_CUDA_HOST_REGISTER_READ_ONLY));
        strcpy(written + MIB - 4096, "last");
        GOOD(cuda->cuMemcpyHtoDAsync(address, memory, MIB, fake->stream));
        expect(fake, address, "old");
        expect(fake, address + MIB - 4096, "last");
        assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, MIB), 0);
        strcpy(written, "new");
        GOOD(cuda->cuMemcpyHtoDAsync(address, memory, MIB, fake->stream));
        expect(fake, address, "old");
        expect(fake, address + MIB - 4096, "last");
        GOOD(cuda->cuMemHostUnregister(memory));
        GOOD(cuda->cuMemHostRegister(memory, MIB, PW_CUDA_HOST_REGISTER_READ_ONLY));
        GOOD(cuda->cuMemcpyHtoDAsync(address, memory, MIB, fake->stream));
        expect(fake, address, "new");
        close(fd);
}

static void pins_not(struct fake *fake)
{
        char memory[8];
        int can;

        GOOD(fake->driver->cuDeviceGetAttribute(&can, PW_CUDA_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 0));
        assert_false(can);
        GIVES(NOT_SUPPORTED, fake->driver->cuMemHostRegister(memory, sizeof memory, 0));
}

static void test_pinned(void **state)
{
        (void)state;
        fake_try("", pins);
        fake_try("", pages_stay);
        fake_try("refuse_register = 1\n", pins_not);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_maps),   cmocka_unit_test(test_devices),  cmocka_unit_test(test_not_the_processors),
                cmocka_unit_test(test_export), cmocka_unit_test(test_capacity), cmocka_unit_test(test_pinned),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
