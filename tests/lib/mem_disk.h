/* mem_disk.h: the inside of the imagined disk: files with what is synced and what is not, and the folder. For mem_port.c. */
#ifndef TESTS_MEM_DISK_H
#define TESTS_MEM_DISK_H

#include "mem_port.h"

enum { NAME_BYTES = 128, SECTOR_BYTES = 512 };

struct pending { /* a change of a file since its last sync */
    enum { PENDING_WRITE, PENDING_SIZE } kind;
    uint64_t offset; /* of a write; the new size */
    uint8_t *data;
    size_t len;
};

struct inode {
    struct buf now;    /* what processes read */
    struct buf synced; /* what a crash cannot take */
    struct pending *pending;
    size_t pending_count, pending_cap;
};

struct name {
    char text[NAME_BYTES];
    struct inode *inode;
};
struct dir {
    struct name *names;
    size_t count, cap;
};

struct dir_op { /* a change of the folder since its last sync */
    enum { DIR_ADD, DIR_RENAME, DIR_REMOVE } kind;
    char name[NAME_BYTES], to[NAME_BYTES];
    struct inode *inode;
};

struct handle {
    struct inode *inode;
    bool write;
};

struct process {
    struct mem_disk *disk;
    bool ended;
    struct handle *handles; /* inode NULL: free */
    size_t handle_count;
};

struct mem_disk {
    struct inode **inodes;
    size_t inode_count, inode_cap;
    struct dir now, synced;
    struct dir_op *ops;
    size_t op_count, op_cap;
    struct process **processes;
    size_t process_count;
    struct process *lock_owner;
    struct mem_faults faults;
    struct mem_counts counts;
    bool power_is_off;
};

void *mem_grow(void *array, size_t *cap, size_t count, size_t size);
void mem_buf_resize(struct buf *b, size_t len);
void mem_buf_copy(struct buf *to, const struct buf *from);

struct inode *mem_inode_new(struct mem_disk *d);
void mem_inode_free(struct inode *n);
void mem_inode_write(struct inode *n, uint64_t offset, const uint8_t *data, size_t len);
void mem_inode_size(struct inode *n, uint64_t bytes);
void mem_inode_sync(struct inode *n);
void mem_inode_crash(struct inode *n, struct prng *random, bool never_tears);

struct name *mem_dir_find(const struct dir *dir, const char *text);
void mem_name_set(char dst[NAME_BYTES], const char *text);
void mem_dir_put(struct dir *dir, const char *text, struct inode *inode);
void mem_dir_remove(struct dir *dir, const char *text);
void mem_dir_copy(struct dir *to, const struct dir *from);
void mem_dir_apply(struct dir *dir, const struct dir_op *op);
void mem_dir_change(struct mem_disk *d, const struct dir_op *op);
void mem_ops_crash(struct mem_disk *d, struct prng *random);
void mem_collect(struct mem_disk *d); /* frees what nobody can reach any more */

#endif
