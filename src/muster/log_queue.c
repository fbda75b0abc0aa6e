/* log_queue.c: entries wait in pieces, each of one line. A piece that is full goes to the end of its line; a line that has such and is not being worked on is ready, and every
 * thread that has done with a piece takes the next one of the line that was ready first. So nobody waits for the slowest, and who reads the log helps when enough waits already.
 * A short log, which fills no piece, is applied without other threads. */
#include "log_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_MAX = 15, PIECE_BYTES = 512 << 10, PIECES_MAX = 32 };

struct log_piece {
    struct log_piece *next;
    struct buf bytes; /* payloads */
    struct waiting {
        uint64_t index, term;
        size_t offset; /* of the payload */
        int32_t len;
        uint8_t kind;
    } * entries;
    size_t count, cap;
};

struct log_queue {
    void (*apply)(void *ctx, struct log_line *line, const struct log_queued *entry);
    void *ctx;
    struct log_line *known;  /* all that something was put into */
    struct log_piece *spare; /* the caller's */
    pthread_t threads[THREADS_MAX];
    size_t thread_count;
    pthread_mutex_t lock;           /* of what follows, and of the lines' full pieces */
    pthread_cond_t more, less;      /* for those who work, and for who waits for them */
    struct log_line *first, **last; /* that are ready */
    struct log_piece *done;         /* empty again */
    size_t pieces;                  /* full, and not applied yet */
    bool ended;
};

static void lock(struct log_queue *q)
{
    MUSTER_CHECK(pthread_mutex_lock(&q->lock) == 0);
}

static void unlock(struct log_queue *q)
{
    MUSTER_CHECK(pthread_mutex_unlock(&q->lock) == 0);
}

struct log_queue *log_queue_new(void (*apply)(void *ctx, struct log_line *line, const struct log_queued *entry), void *ctx)
{
    struct log_queue *q = calloc(1, sizeof(*q));
    MUSTER_CHECK(q != NULL);
    q->apply = apply;
    q->ctx = ctx;
    q->last = &q->first;
    MUSTER_CHECK(pthread_mutex_init(&q->lock, NULL) == 0);
    MUSTER_CHECK(pthread_cond_init(&q->more, NULL) == 0 && pthread_cond_init(&q->less, NULL) == 0);
    return q;
}

/* ---- pieces ---- */

static void pieces_free(struct log_piece *p)
{
    while (p != NULL) {
        struct log_piece *next = p->next;
        buf_fini(&p->bytes);
        free(p->entries);
        free(p);
        p = next;
    }
}

static struct log_piece *piece_new(struct log_queue *q)
{
    if (q->spare == NULL) {
        lock(q);
        q->spare = q->done;
        q->done = NULL;
        unlock(q);
    }
    struct log_piece *p = q->spare;
    if (p == NULL) {
        p = calloc(1, sizeof(*p));
        MUSTER_CHECK(p != NULL);
        buf_init(&p->bytes, 0);
        return p;
    }
    q->spare = p->next;
    p->next = NULL;
    p->count = 0;
    buf_clear(&p->bytes);
    return p;
}

static void piece_add(struct log_piece *p, const struct log_queued *entry)
{
    if (p->count == p->cap) {
        p->cap = p->cap > 0 ? p->cap * 2 : 256;
        p->entries = reallocarray(p->entries, p->cap, sizeof(*p->entries));
        MUSTER_CHECK(p->entries != NULL);
    }
    int32_t len = entry->payload.len > 0 ? entry->payload.len : 0;
    p->entries[p->count++] = (struct waiting){entry->index, entry->term, p->bytes.len, len, entry->kind};
    MUSTER_CHECK(buf_put(&p->bytes, entry->payload.ptr, (size_t)len) == 0);
}

static bool piece_is_full(const struct log_piece *p)
{
    return p->bytes.len + p->count * sizeof(*p->entries) >= PIECE_BYTES;
}

/* ---- work ---- */

static void make_ready(struct log_queue *q, struct log_line *l)
{
    l->ready = true;
    l->next_ready = NULL;
    *q->last = l;
    q->last = &l->next_ready;
    MUSTER_CHECK(pthread_cond_signal(&q->more) == 0);
}

/* One piece of the line that was ready first. The lock is held before and behind it, not meanwhile. */
static void work(struct log_queue *q)
{
    struct log_line *l = q->first;
    q->first = l->next_ready;
    q->last = q->first == NULL ? &q->first : q->last;
    struct log_piece *p = l->first;
    l->first = p->next;
    l->last = l->first == NULL ? &l->first : l->last;
    unlock(q);
    for (size_t i = 0; i < p->count; i++) {
        const struct waiting *e = &p->entries[i];
        const struct log_queued entry = {e->index, e->term, e->kind, {p->bytes.ptr + e->offset, e->len}};
        q->apply(q->ctx, l, &entry);
    }
    lock(q);
    p->next = q->done;
    q->done = p;
    q->pieces--;
    l->ready = false;
    if (l->first != NULL) {
        make_ready(q, l);
    }
    MUSTER_CHECK(pthread_cond_signal(&q->less) == 0);
}

static void *work_on(void *arg)
{
    struct log_queue *q = arg;
    lock(q);
    while (!q->ended) {
        if (q->first != NULL) {
            work(q);
        } else {
            MUSTER_CHECK(pthread_cond_wait(&q->more, &q->lock) == 0);
        }
    }
    unlock(q);
    return NULL;
}

/* Works along until no more pieces than that wait. */
static void help(struct log_queue *q, size_t pieces)
{
    lock(q);
    while (q->pieces > pieces) {
        if (q->first != NULL) {
            work(q);
        } else {
            MUSTER_CHECK(pthread_cond_wait(&q->less, &q->lock) == 0);
        }
    }
    unlock(q);
}

/* As many as there are processors besides that of the caller, and one in any case: it works while the caller waits for the disk. */
static void start_threads(struct log_queue *q)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors <= 2 ? 1 : processors > THREADS_MAX ? THREADS_MAX : (size_t)processors - 1;
    while (q->thread_count < wanted) {
        MUSTER_CHECK(pthread_create(&q->threads[q->thread_count++], NULL, work_on, q) == 0);
    }
}

static void pass_on(struct log_queue *q, struct log_line *l)
{
    lock(q);
    l->last = l->first == NULL ? &l->first : l->last;
    *l->last = l->filling;
    l->last = &l->filling->next;
    l->filling = NULL;
    q->pieces++;
    if (!l->ready) {
        make_ready(q, l);
    }
    unlock(q);
}

void log_queue_put(struct log_queue *q, struct log_line *line, const struct log_queued *entry)
{
    if (!line->known) {
        line->known = true;
        line->next_known = q->known;
        q->known = line;
    }
    if (line->filling == NULL) {
        line->filling = piece_new(q);
    }
    piece_add(line->filling, entry);
    if (piece_is_full(line->filling)) {
        start_threads(q);
        pass_on(q, line);
        help(q, PIECES_MAX);
    }
}

void log_queue_finish(struct log_queue *q)
{
    for (struct log_line *l = q->known; l != NULL; l = l->next_known) {
        if (l->filling != NULL) {
            pass_on(q, l);
        }
    }
    help(q, 0);
}

void log_queue_take_back(struct log_queue *q, struct log_line *line, uint64_t index)
{
    help(q, 0);
    struct log_piece *p = line->filling;
    while (p != NULL && p->count > 0 && p->entries[p->count - 1].index >= index) {
        p->count--;
        p->bytes.len = p->entries[p->count].offset;
    }
}

void log_queue_free(struct log_queue *q)
{
    lock(q);
    q->ended = true;
    MUSTER_CHECK(pthread_cond_broadcast(&q->more) == 0);
    unlock(q);
    for (size_t i = 0; i < q->thread_count; i++) {
        MUSTER_CHECK(pthread_join(q->threads[i], NULL) == 0);
    }
    MUSTER_CHECK(q->pieces == 0);
    for (struct log_line *l = q->known; l != NULL; l = l->next_known) {
        pieces_free(l->filling);
    }
    pieces_free(q->spare);
    pieces_free(q->done);
    (void)pthread_cond_destroy(&q->more);
    (void)pthread_cond_destroy(&q->less);
    (void)pthread_mutex_destroy(&q->lock);
    free(q);
}
