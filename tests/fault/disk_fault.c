/* disk_fault.c: loaded into a node by LD_PRELOAD, gives it a disk that fails or hangs while it runs. The variable MUSTER_DISK_FAULT names a file
 * of two words that a test writes: what is wrong (enum fault below), and milliseconds for SLOW.
 *
 * Only files below a data folder are touched: what is written with an offset, and what is synced, is storage's. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum fault { FINE, WRITE_FAILS, SYNC_FAILS, SYNC_HANGS, SYNC_SLOW, READ_FAILS };

struct control {
    int32_t fault;
    int32_t ms;
};

static const volatile struct control *control;

__attribute__((constructor)) static void map_control(void)
{
    const char *path = getenv("MUSTER_DISK_FAULT");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    void *at = mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, fd, 0);
    control = at != MAP_FAILED ? at : NULL;
    close(fd);
}

static enum fault fault_now(void)
{
    return control != NULL ? (enum fault)control->fault : FINE;
}

static void sleep_ms(int32_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {
    }
}

static int fail(void)
{
    errno = EIO;
    return -1;
}

/* What a sync meets before it begins. */
static int before_sync(void)
{
    if (fault_now() == SYNC_SLOW) {
        sleep_ms(control->ms);
    }
    while (fault_now() == SYNC_HANGS) {
        sleep_ms(1);
    }
    return fault_now() == SYNC_FAILS ? fail() : 0;
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    return fault_now() == WRITE_FAILS ? fail() : syscall(SYS_pwritev, fd, iov, count, offset, 0);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int count, off_t offset)
{
    return pwritev(fd, iov, count, offset);
}

ssize_t pread(int fd, void *buffer, size_t len, off_t offset)
{
    return fault_now() == READ_FAILS ? fail() : syscall(SYS_pread64, fd, buffer, len, offset);
}

ssize_t pread64(int fd, void *buffer, size_t len, off_t offset)
{
    return pread(fd, buffer, len, offset);
}

int fdatasync(int fd)
{
    return before_sync() < 0 ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return before_sync() < 0 ? -1 : (int)syscall(SYS_fsync, fd);
}
