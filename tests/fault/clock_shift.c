/* clock_shift.c: loaded into a node by LD_PRELOAD, gives it a wall clock that a test can step while it runs. The variable
 * MUSTER_CLOCK_SHIFT names a file of eight bytes: seconds, signed, to be added to the real time. Monotonic clocks stay as they are, as with a
 * clock that is set. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift;

__attribute__((constructor)) static void map_shift(void)
{
    const char *path = getenv("MUSTER_CLOCK_SHIFT");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    void *at = mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);
    shift = at != MAP_FAILED ? at : NULL;
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
    long rc = syscall(SYS_clock_gettime, id, ret);
    if (rc == 0 && shift != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        ret->tv_sec += *shift;
    }
    return (int)rc;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    ret->tv_sec = now.tv_sec;
    ret->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret != NULL) {
        *ret = now.tv_sec;
    }
    return now.tv_sec;
}
