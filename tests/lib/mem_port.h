/* mem_port.h: an imagined disk behind struct store_port, for unit tests, fuzzers and the simulator.
 *
 * The disk knows what was synced and what was only written. A crash keeps of the rest whatever a real disk might: each write may be lost,
 * whole, or torn at any byte or sector; changes of the folder that were not synced are lost from some point on. The same seed gives the same
 * crash. No threads, no clock, no global state. Running out of memory stops the test. */
#ifndef TESTS_MEM_PORT_H
#define TESTS_MEM_PORT_H

#include <muster/store.h>

struct mem_disk;

/* What the disk is to do wrong. Counters count down with each call of that kind; at 1 the call goes wrong, 0 is off. */
struct mem_faults {
    uint64_t capacity_bytes; /* FULL when all files together would grow past it; 0: no limit */
    uint64_t fail_write;     /* this write fails with IO, half done */
    uint64_t full_write;     /* this write fails with FULL, half done: a file system that copies on write */
    uint64_t fail_sync;      /* this sync fails with IO; what was written stays unsynced */
    uint64_t fail_sync_dir;
    uint64_t fail_read;
    uint64_t cut_power;   /* at this change (write, allocate, truncate, sync, rename, remove, ...) the power goes: it may or may not
                                          * reach the disk, and it and every later call fail with IO until mem_disk_crash */
    int64_t misdirect_by; /* the next write lands so many bytes off (the other way, if that were before the beginning); 0 is off */
    bool sync_lies;       /* sync says 0 and does nothing */
    bool never_tears;     /* what was being written when the power went is there as a whole or not at all */
};
struct mem_counts {
    uint64_t changes, writes, syncs, dir_syncs, reads;
};

struct mem_disk *mem_disk_new(void);
/* The files as they are, all synced, without faults and without users. */
struct mem_disk *mem_disk_clone(const struct mem_disk *d);
void mem_disk_free(struct mem_disk *d);

/* A port for a process on this machine; any number. The disk owns what is behind it. */
void mem_disk_port(struct mem_disk *d, struct store_port *ret);
/* The process has ended and the machine goes on: its handles and lock go, what it wrote stays. The port fails with IO from now on. */
void mem_disk_end_process(struct mem_disk *d, const struct store_port *port);
/* The machine has crashed: all ports fail with IO from now on, and of what was not synced only some survives. */
void mem_disk_crash(struct mem_disk *d, struct prng *p);

struct mem_faults *mem_disk_faults(struct mem_disk *d);
void mem_disk_counts(const struct mem_disk *d, struct mem_counts *ret);

/* The files behind everyone's back; what is put counts as synced. Borrowed until the next change. len -1: no such file. */
struct bytes mem_disk_file(const struct mem_disk *d, const char *name);
/* Bytes of all files together, as capacity_bytes counts them. */
uint64_t mem_disk_used(const struct mem_disk *d);
/* What was written is on the disk by now, whatever was said of it. */
void mem_disk_settle(struct mem_disk *d);
void mem_disk_put(struct mem_disk *d, const char *name, const void *data, size_t len);
void mem_disk_flip(struct mem_disk *d, const char *name, uint64_t offset, uint8_t mask);
void mem_disk_cut(struct mem_disk *d, const char *name, uint64_t len);
void mem_disk_delete(struct mem_disk *d, const char *name);
size_t mem_disk_file_count(const struct mem_disk *d);
const char *mem_disk_file_name(const struct mem_disk *d, size_t i);

#endif
