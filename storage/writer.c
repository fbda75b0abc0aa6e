/* writer.c: the log thread. One batch at a time goes in and comes back; trims and the preparing of segments run in between.
 *
 * Who owns what: `store` belongs to the thread from start to stop. The rest is under the mutex. Records are the caller's, and stay untouched
 * from submit until poll has given the result. */
#include "log.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum writer_state {
    WRITER_IDLE,
    WRITER_WAITING, /* a batch is handed over */
    WRITER_WRITING,
    WRITER_DONE /* its result waits for poll */
};

struct store_writer {
    struct store *store;
    void (*wake)(void *ctx);
    void *wake_ctx;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum writer_state state;
    const struct store_record *records;
    size_t count;
    int result;
    uint64_t *trims; /* by shard: trim up to here when there is time; 0 nothing */
    bool trim_waiting;
    bool tidy_waiting, room_wanted; /* history */
    bool stop;
};

static void lock(struct store_writer *w)
{
    MUSTER_CHECK(pthread_mutex_lock(&w->mutex) == 0);
}

static void unlock(struct store_writer *w)
{
    MUSTER_CHECK(pthread_mutex_unlock(&w->mutex) == 0);
}

/* ---- the thread ------------------------------------------------------------------------------------------------------------ */

static void write_batch(struct store_writer *w)
{
    w->state = WRITER_WRITING;
    const struct store_record *records = w->records;
    size_t count = w->count;
    unlock(w);
    int rc = store_write(w->store, records, count);
    lock(w);
    w->result = rc;
    w->state = WRITER_DONE;
    unlock(w);
    w->wake(w->wake_ctx);
    store_prepare(w->store);
    lock(w);
}

/* One shard at a time, so that a batch that comes meanwhile waits for no more than that. A failure is not lost: the store is dead or the
 * segments stay and the next trim tries again. */
static void trim_one(struct store_writer *w)
{
    uint32_t shard = 0;
    while (shard < w->store->options.shard_count && w->trims[shard] == 0) {
        shard++;
    }
    if (shard == w->store->options.shard_count) {
        w->trim_waiting = false;
        return;
    }
    uint64_t index = w->trims[shard];
    w->trims[shard] = 0;
    unlock(w);
    (void)store_trim(w->store, shard, index);
    lock(w);
}

static void tidy(struct store_writer *w)
{
    bool room = w->room_wanted;
    w->tidy_waiting = false;
    w->room_wanted = false;
    unlock(w);
    if (room) {
        store_make_room(w->store);
    } else {
        (void)store_tidy(w->store);
    }
    lock(w);
}

static void *writer_main(void *arg)
{
    struct store_writer *w = arg;
    lock(w);
    for (;;) {
        if (w->state == WRITER_WAITING) {
            write_batch(w);
        } else if (w->stop) {
            break;
        } else if (w->trim_waiting) {
            trim_one(w);
        } else if (w->tidy_waiting) {
            tidy(w);
        } else {
            MUSTER_CHECK(pthread_cond_wait(&w->changed, &w->mutex) == 0);
        }
    }
    unlock(w);
    return NULL;
}

/* ---- the owner ------------------------------------------------------------------------------------------------------------- */

/* Signals are for the thread that owns the process. */
static int start_thread(struct store_writer *w)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) {
        return MUSTER_E_IO;
    }
    int error = pthread_create(&w->thread, NULL, writer_main, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? MUSTER_E_OK : MUSTER_E_IO;
}

static void writer_free(struct store_writer *w)
{
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->mutex);
    free(w->trims);
    free(w);
}

int store_writer_start(struct store_writer **ret, struct store *s, void (*wake)(void *ctx), void *wake_ctx)
{
    struct store_writer *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return MUSTER_E_LIMIT;
    }
    *w = (struct store_writer){.store = s, .wake = wake, .wake_ctx = wake_ctx, .state = WRITER_IDLE};
    w->trims = calloc(s->options.shard_count, sizeof(*w->trims));
    MUSTER_CHECK(pthread_mutex_init(&w->mutex, NULL) == 0);
    MUSTER_CHECK(pthread_cond_init(&w->changed, NULL) == 0);
    int rc = w->trims == NULL ? MUSTER_E_LIMIT : start_thread(w);
    if (rc < 0) {
        writer_free(w);
        return rc;
    }
    *ret = w;
    return MUSTER_E_OK;
}

int store_writer_submit(struct store_writer *w, const struct store_record *records, size_t count)
{
    int rc = MUSTER_E_BUSY;
    lock(w);
    if (w->state == WRITER_IDLE) {
        w->state = WRITER_WAITING;
        w->records = records;
        w->count = count;
        rc = MUSTER_E_OK;
        MUSTER_CHECK(pthread_cond_signal(&w->changed) == 0);
    }
    unlock(w);
    return rc;
}

bool store_writer_poll(struct store_writer *w, int *ret_result)
{
    lock(w);
    bool done = w->state == WRITER_DONE;
    if (done) {
        *ret_result = w->result;
        w->state = WRITER_IDLE;
        w->records = NULL;
    }
    unlock(w);
    return done;
}

bool store_writer_busy(const struct store_writer *w)
{
    struct store_writer *self = (struct store_writer *)(uintptr_t)w; /* the mutex is no part of the value */
    lock(self);
    bool busy = self->state != WRITER_IDLE;
    unlock(self);
    return busy;
}

void store_writer_trim(struct store_writer *w, uint32_t shard, uint64_t index)
{
    MUSTER_CHECK(shard < w->store->options.shard_count);
    lock(w);
    if (index > w->trims[shard]) {
        w->trims[shard] = index;
        w->trim_waiting = true;
        MUSTER_CHECK(pthread_cond_signal(&w->changed) == 0);
    }
    unlock(w);
}

void store_writer_tidy(struct store_writer *w, bool make_room)
{
    lock(w);
    w->tidy_waiting = true;
    w->room_wanted = w->room_wanted || make_room;
    MUSTER_CHECK(pthread_cond_signal(&w->changed) == 0);
    unlock(w);
}

void store_writer_stop(struct store_writer *w)
{
    if (w == NULL) {
        return;
    }
    lock(w);
    w->stop = true;
    MUSTER_CHECK(pthread_cond_signal(&w->changed) == 0);
    unlock(w);
    MUSTER_CHECK(pthread_join(w->thread, NULL) == 0);
    writer_free(w);
}
