/* port_posix.c: a data folder on a real file system. Everything goes through a descriptor of the folder, so a folder that is moved while
 * it is open is still the same folder. A file handle is its descriptor. */
#include "port_posix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { POSIX_IOV_COUNT = 16, POSIX_ZERO_BYTES = 64 * 1024 };

struct posix_dir {
    int fd;
    bool read_only;
};

int store_port_error(void)
{
    switch (errno) {
    case ENOSPC:
    case EDQUOT:
        return MUSTER_E_FULL;
    case ENOENT:
        return MUSTER_E_NOT_FOUND;
    case EEXIST:
        return MUSTER_E_EXISTS;
    case EWOULDBLOCK:
        return MUSTER_E_BUSY;
    case ELOOP:
    case EISDIR:
        return MUSTER_E_NO_FILE;
    default:
        return MUSTER_E_IO;
    }
}

static int refuse_read_only(const struct posix_dir *d)
{
    if (d->read_only) {
        errno = EROFS;
        return MUSTER_E_IO;
    }
    return MUSTER_E_OK;
}

static int posix_open(void *ctx, const char *name, bool create, bool write, int *ret_file)
{
    const struct posix_dir *d = ctx;
    if ((create || write) && refuse_read_only(d) < 0) {
        return MUSTER_E_IO;
    }
    struct stat status;
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (write || create ? O_RDWR : O_RDONLY) | (create ? O_CREAT : 0);
    int fd = openat(d->fd, name, flags, 0644);
    if (fd < 0) {
        return store_port_error();
    }
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) { /* a pipe would be waited for */
        (void)close(fd);
        return MUSTER_E_NO_FILE;
    }
    *ret_file = fd;
    return MUSTER_E_OK;
}

static void posix_close(void *ctx, int file)
{
    (void)ctx;
    (void)close(file);
}

static int posix_read(void *ctx, int file, uint64_t offset, void *dst, size_t len, size_t *ret_len)
{
    (void)ctx;
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(file, (uint8_t *)dst + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return store_port_error();
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    *ret_len = done;
    return MUSTER_E_OK;
}

/* Writes what iov describes; iov is used up. */
static int write_all(int file, uint64_t offset, struct iovec *iov, int count)
{
    while (count > 0) {
        ssize_t n = pwritev(file, iov, count, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return store_port_error();
        }
        offset += (uint64_t)n;
        size_t left = (size_t)n;
        while (count > 0 && left >= iov->iov_len) {
            left -= iov->iov_len;
            iov++;
            count--;
        }
        if (count > 0) {
            iov->iov_base = (uint8_t *)iov->iov_base + left;
            iov->iov_len -= left;
        }
    }
    return MUSTER_E_OK;
}

static int posix_write(void *ctx, int file, uint64_t offset, const struct bytes *parts, size_t count)
{
    int rc = refuse_read_only(ctx);
    size_t at = 0;
    while (rc >= 0 && at < count) {
        struct iovec iov[POSIX_IOV_COUNT];
        int used = 0;
        uint64_t bytes = 0;
        for (; at < count && used < POSIX_IOV_COUNT; at++) {
            if (parts[at].len > 0) {
                iov[used].iov_base = (void *)(uintptr_t)parts[at].ptr;
                iov[used++].iov_len = (size_t)parts[at].len;
                bytes += (uint64_t)parts[at].len;
            }
        }
        rc = write_all(file, offset, iov, used);
        offset += bytes;
    }
    return rc;
}

static int posix_sync(void *ctx, int file)
{
    (void)ctx;
#ifdef MUSTER_FAULT_NO_FDATASYNC
    (void)file;
    return MUSTER_E_OK;
#else
    int rc;
    do {
        rc = fdatasync(file);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? store_port_error() : MUSTER_E_OK;
#endif
}

static int posix_size(void *ctx, int file, uint64_t *ret_bytes)
{
    (void)ctx;
    struct stat st;
    if (fstat(file, &st) < 0) {
        return store_port_error();
    }
    *ret_bytes = (uint64_t)st.st_size;
    return MUSTER_E_OK;
}

/* fallocate fails at once when there is no room; the zeros then take the blocks from "reserved" to "written", so that a later fdatasync has
 * no metadata to write. */
static int posix_allocate(void *ctx, int file, uint64_t bytes)
{
    static const uint8_t zeros[POSIX_ZERO_BYTES];
    uint64_t from = 0;
    int rc = posix_size(ctx, file, &from);
    if (rc < 0 || from >= bytes) {
        return rc;
    }
    int error = posix_fallocate(file, (off_t)from, (off_t)(bytes - from));
    if (error != 0 && error != EOPNOTSUPP && error != EINVAL) {
        errno = error;
        return store_port_error();
    }
    while (from < bytes) {
        size_t len = bytes - from < sizeof(zeros) ? (size_t)(bytes - from) : sizeof(zeros);
        struct bytes part = {zeros, (int32_t)len};
        rc = posix_write(ctx, file, from, &part, 1);
        if (rc < 0) {
            return rc;
        }
        from += len;
    }
    return MUSTER_E_OK;
}

static int posix_truncate(void *ctx, int file, uint64_t bytes)
{
    if (refuse_read_only(ctx) < 0) {
        return MUSTER_E_IO;
    }
    return ftruncate(file, (off_t)bytes) < 0 ? store_port_error() : MUSTER_E_OK;
}

static int posix_rename(void *ctx, const char *from, const char *to)
{
    const struct posix_dir *d = ctx;
    if (refuse_read_only(d) < 0) {
        return MUSTER_E_IO;
    }
    return renameat(d->fd, from, d->fd, to) < 0 ? store_port_error() : MUSTER_E_OK;
}

static int posix_remove(void *ctx, const char *name)
{
    const struct posix_dir *d = ctx;
    if (refuse_read_only(d) < 0) {
        return MUSTER_E_IO;
    }
    return unlinkat(d->fd, name, 0) < 0 ? store_port_error() : MUSTER_E_OK;
}

static int posix_sync_dir(void *ctx)
{
    const struct posix_dir *d = ctx;
    if (refuse_read_only(d) < 0) {
        return MUSTER_E_IO;
    }
    return fsync(d->fd) < 0 ? store_port_error() : MUSTER_E_OK;
}

static int posix_list(void *ctx, void (*each)(void *arg, const char *name), void *arg)
{
    const struct posix_dir *d = ctx;
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return store_port_error();
    }
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        int rc = store_port_error();
        (void)close(fd);
        return rc;
    }
    errno = 0;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            each(arg, e->d_name);
        }
        errno = 0;
    }
    int rc = errno != 0 ? store_port_error() : MUSTER_E_OK;
    (void)closedir(dir);
    return rc;
}

static int posix_lock(void *ctx)
{
    const struct posix_dir *d = ctx;
    if (refuse_read_only(d) < 0) {
        return MUSTER_E_IO;
    }
    return flock(d->fd, LOCK_EX | LOCK_NB) < 0 ? store_port_error() : MUSTER_E_OK;
}

/* The folder itself must survive a crash too: its parent is synced. */
static int make_dir(const char *dir)
{
    if (mkdir(dir, 0755) < 0) {
        return errno == EEXIST ? MUSTER_E_OK : store_port_error();
    }
    char *parent = malloc(strlen(dir) + sizeof("/.."));
    if (parent == NULL) {
        return MUSTER_E_LIMIT;
    }
    (void)stpcpy(stpcpy(parent, dir), "/..");
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(parent);
    int rc = fd < 0 || fsync(fd) < 0 ? store_port_error() : MUSTER_E_OK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

int store_port_plain_init(struct store_port *port, const char *dir, bool read_only)
{
    int rc = read_only ? MUSTER_E_OK : make_dir(dir);
    if (rc < 0) {
        return rc;
    }
    struct posix_dir *d = malloc(sizeof(*d));
    if (d == NULL) {
        return MUSTER_E_LIMIT;
    }
    *d = (struct posix_dir){.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .read_only = read_only};
    if (d->fd < 0 || (!read_only && faccessat(d->fd, ".", W_OK | X_OK, AT_EACCESS) < 0)) { /* said now, not at the first write */
        rc = store_port_error();
        if (d->fd >= 0) {
            (void)close(d->fd);
        }
        free(d);
        return rc;
    }
    *port = (struct store_port){
        .ctx = d,
        .open = posix_open,
        .close = posix_close,
        .read = posix_read,
        .write = posix_write,
        .sync = posix_sync,
        .size = posix_size,
        .allocate = posix_allocate,
        .truncate = posix_truncate,
        .rename = posix_rename,
        .remove = posix_remove,
        .sync_dir = posix_sync_dir,
        .list = posix_list,
        .lock = posix_lock,
    };
    return MUSTER_E_OK;
}

void store_port_plain_fini(struct store_port *port)
{
    struct posix_dir *d = port->ctx;
    if (d != NULL) {
        (void)close(d->fd);
        free(d);
    }
    *port = (struct store_port){0};
}

#ifndef MUSTER_TEST_PORT
int store_port_posix_init(struct store_port *port, const char *dir, bool read_only)
{
    return store_port_plain_init(port, dir, read_only);
}

void store_port_posix_fini(struct store_port *port)
{
    store_port_plain_fini(port);
}
#endif
