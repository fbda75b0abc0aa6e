/* Moving a snapshot to a node whose log ends before this node's begins.
 *
 * The receiver drives: it is offered a snapshot, says from which byte it wants it, and asks for the next run when the last is on disk, so a broken
 * connection or a lost message costs only the run in flight; a receiver that restarts begins anew, since nothing it had was synced. When the file is complete and every checksum holds, the library is given
 * its InstallSnapshot; if it agrees, the state is replaced, the log names the snapshot, and the library hears that it is done.
 *
 * A state that went wrong between log and memory looks whole, and whoever is given it is wrong, too: two of three, a majority. So a snapshot is offered
 * when a majority of the voters was seen to have the same hash at its index (divergence.c), and not at all while one of them has another. If they
 * have forgotten what they had there, a new snapshot is taken. Where nobody is there to ask it is sent after a moment: else the shard would have no majority. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

enum { ASK_AGAIN_US = 1000000, IDLE_US = 3000000, GIVE_UP_US = 30000000 };
/* Comparing before sending: how often the others are asked, when another snapshot is taken that they can say something of, when it is sent all the same. */
enum { COMPARE_AGAIN_US = 200000, RENEW_US = 500000, COMPARE_US = 1000000, RENEWED_US = 10000000 };

/* ---- the sender ------------------------------------------------------------------------------------------------------------ */

struct sending {
    struct sending *next;
    struct core_job job;
    struct shard *shard;
    uint32_t node;
    uint64_t min_index;
    struct store_snapshot_reader *reader; /* NULL: being opened */
    struct store_snapshot_meta meta;
    uint64_t file_bytes;
    bool busy, closing, offer_again;
    bool compared, renewed;      /* it may be offered; another one was asked for */
    int64_t opened_us, asked_us; /* when it was opened, and when the others were last asked for their hash */
    int64_t active_us;           /* when it was last asked for something */
    int64_t offered_us;
    uint64_t offset;
    uint8_t *chunk;
    size_t chunk_len;
    int result;
};

static struct sending *sending_find(const struct replica *core, const struct shard *s, uint32_t node)
{
    for (struct sending *x = core->sendings; x != NULL; x = x->next) {
        if (x->shard == s && x->node == node) {
            return x;
        }
    }
    return NULL;
}

static void sending_free(struct sending *x)
{
    struct sending **at = &x->shard->core->sendings;
    while (*at != x) {
        at = &(*at)->next;
    }
    *at = x->next;
    if (x->reader != NULL) {
        store_snapshot_close(x->reader);
    }
    free(x->chunk);
    free(x);
}

static void sending_close(struct sending *x)
{
    x->closing = true;
    if (!x->busy) {
        sending_free(x);
    }
}

static void sending_run(struct core_job *job)
{
    struct sending *x = CONTAINER_OF(job, struct sending, job);
    if (x->reader == NULL) {
        x->result = store_snapshot_open(job->core->host.port, x->shard->id, x->min_index, &x->meta, &x->reader);
        return;
    }
    x->result = store_snapshot_read_raw(x->reader, x->offset, x->chunk, job->core->options.snapshot_chunk_bytes, &x->chunk_len);
}

static void send_offer(struct sending *x)
{
    struct replica *core = x->shard->core;
    struct message m = {.type = MESSAGE_SNAPSHOT_OFFER, .shard = x->shard->id};
    m.snapshot.term = raft_current_term(&x->shard->raft);
    m.snapshot.index = x->meta.index;
    m.snapshot.last_term = x->meta.term;
    m.snapshot.config_index = x->meta.config_index;
    m.snapshot.config = x->meta.config;
    m.snapshot.file_bytes = x->file_bytes;
    x->offered_us = core->now_us;
    x->offer_again = false;
    core_post(core, x->shard, x->node, CORE_RAFT, &m);
}

static void send_chunk(struct sending *x)
{
    struct replica *core = x->shard->core;
    struct message m = {.type = MESSAGE_SNAPSHOT_CHUNK, .shard = x->shard->id};
    m.snapshot.term = raft_current_term(&x->shard->raft);
    m.snapshot.index = x->meta.index;
    m.snapshot.file_bytes = x->file_bytes;
    m.snapshot.offset = x->offset;
    m.snapshot.data = (struct bytes){x->chunk, (int32_t)x->chunk_len};
    core_post(core, NULL, x->node, CORE_BULK, &m);
}

/* There is a newer snapshot, of which the others may know more. */
static void reopen(struct sending *x)
{
    store_snapshot_close(x->reader);
    x->reader = NULL;
    x->file_bytes = 0;
    x->min_index = x->shard->snapshot_index;
    x->busy = true;
    job_start(x->shard->core, &x->job);
}

/* Nobody says whether the snapshot is right. */
static void wait_for_answers(struct sending *x)
{
    struct shard *s = x->shard;
    struct replica *core = s->core;
    int64_t waited_us = core->now_us - x->opened_us;
    bool disputed = hash_disputed(s, x->meta.index, x->meta.state_hash);
    bool renewing = x->renewed && (s->snapshot_renew || snapshot_under_way(s)) && waited_us < RENEWED_US;
    if (s->snapshot_index > x->meta.index) {
        reopen(x);
    } else if (waited_us >= RENEW_US && !x->renewed && s->applied > x->meta.index && hash_comparable(s, x->node)) {
        x->renewed = true;
        s->snapshot_renew = true;
    } else if (waited_us >= COMPARE_US && !renewing && !disputed) {
        log_event(LOG_WARN, "snapshot_not_compared", "node=%u shard=%u to=%u index=%llu hash=%016llx", core->self, s->id, x->node,
                  (unsigned long long)x->meta.index, (unsigned long long)x->meta.state_hash);
        core->stats.snapshots_uncompared++;
        x->compared = true;
    }
    x->active_us = disputed ? x->active_us : core->now_us;
}

static void offer_compared(struct sending *x)
{
    struct shard *s = x->shard;
    struct replica *core = s->core;
#ifdef MUSTER_FAULT_SEND_UNCOMPARED_SNAPSHOT
    x->compared = true;
#endif
    x->compared = x->compared || hash_agreed(s, x->meta.index, x->meta.state_hash);
    if (!x->compared && core->now_us - x->asked_us >= COMPARE_AGAIN_US) {
        x->asked_us = core->now_us;
        hash_ask(s, x->meta.index, x->meta.state_hash);
        x->compared = hash_agreed(s, x->meta.index, x->meta.state_hash);
    }
    if (!x->compared && !core->broken) {
        wait_for_answers(x);
    }
    if (x->compared && !core->broken) {
        send_offer(x);
    }
}

static void sending_done(struct core_job *job)
{
    struct sending *x = CONTAINER_OF(job, struct sending, job);
    struct replica *core = job->core;
    x->busy = false;
    if (x->closing || core->broken || x->result != 0) {
        if (x->result != 0) {
            log_event(LOG_ERROR, "snapshot_send_failed", "node=%u shard=%u to=%u error=\"%s\"", core->self, x->shard->id, x->node,
                      muster_strerror(x->result));
        }
        sending_free(x);
        return;
    }
    if (x->file_bytes == 0) {
        x->file_bytes = store_snapshot_file_bytes(x->reader);
        x->opened_us = core->now_us;
        offer_compared(x);
    } else {
        send_chunk(x);
    }
}

void install_offer(struct shard *s, uint32_t node)
{
    struct replica *core = s->core;
    struct sending *x = sending_find(core, s, node);
    if (x != NULL && !x->busy && x->file_bytes != 0 && x->meta.index + 1 < s->log.first && core->now_us - x->active_us > IDLE_US) {
        sending_free(x); /* the log has moved on: what follows this snapshot is gone */
        x = NULL;
    }
    if (x == NULL && s->snapshot_index + 1 < s->log.first) {
        s->outrun = true; /* behind this one entries would be missing: there is a newer one soon */
        return;
    }
    if (x != NULL) {
        int64_t quiet_us = core->now_us - (x->active_us > x->offered_us ? x->active_us : x->offered_us);
        if (!x->busy && x->compared && (x->offer_again || quiet_us > ASK_AGAIN_US)) {
            send_offer(x); /* the library asks at every heartbeat; the first offer may have been lost */
        }
        return;
    }
    x = calloc(1, sizeof *x);
    MUSTER_CHECK(x != NULL);
    x->chunk = malloc(core->options.snapshot_chunk_bytes);
    MUSTER_CHECK(x->chunk != NULL);
    x->shard = s;
    x->node = node;
    x->min_index = s->snapshot_index;
    x->job.run = sending_run;
    x->job.done = sending_done;
    x->busy = true;
    x->active_us = core->now_us;
    x->asked_us = core->now_us - COMPARE_AGAIN_US;
    x->next = core->sendings;
    core->sendings = x;
    job_start(core, &x->job);
}

bool install_sending(const struct shard *s, uint32_t node)
{
    return sending_find(s->core, s, node) != NULL;
}

void install_forget(struct replica *core, uint32_t node)
{
    for (struct sending *x = core->sendings, *next; x != NULL; x = next) {
        next = x->next;
        if (x->node == node) {
            sending_close(x);
        }
    }
}

uint64_t install_pinned(const struct shard *s)
{
    uint64_t index = UINT64_MAX;
    for (const struct sending *x = s->core->sendings; x != NULL; x = x->next) {
        bool active = s->core->now_us - x->active_us <= IDLE_US;
        if (x->shard == s && active && x->file_bytes != 0 && x->meta.index < index) {
            index = x->meta.index;
        }
    }
    return index;
}

void install_connected(struct replica *core, uint32_t node)
{
    for (struct sending *x = core->sendings; x != NULL; x = x->next) {
        if (x->node == node) {
            x->offer_again = true; /* it may be a new process that was offered nothing */
        }
    }
}

static void sending_wanted(struct shard *s, uint32_t node, const struct message_snapshot *want)
{
    struct sending *x = sending_find(s->core, s, node);
    if (x == NULL || x->busy || x->closing || !x->compared || want->index != x->meta.index || want->offset >= x->file_bytes) {
        return;
    }
    x->active_us = s->core->now_us;
    x->offset = want->offset;
    x->busy = true;
    job_start(s->core, &x->job);
}

static void sending_finished(struct shard *s, uint32_t node, uint64_t index)
{
    struct sending *x = sending_find(s->core, s, node);
    if (x != NULL && x->file_bytes != 0 && index == x->meta.index) {
        s->core->stats.snapshots_sent++;
        sending_close(x);
    }
}

/* ---- the receiver ------------------------------------------------------------------------------------------------------------ */

enum receiving_phase { RECEIVE_OPEN, RECEIVE_FETCH, RECEIVE_ADD, RECEIVE_COMMIT, RESTORE_WAIT, RESTORE_OPEN, RESTORE_NEXT, RESTORE_MARK };

struct receiving {
    struct core_job job;
    struct shard *shard;
    uint32_t from;
    enum receiving_phase phase;
    bool busy, cancelled;
    uint64_t term, index, last_term, config_index, file_bytes;
    struct buf config;
    uint64_t have;
    int64_t asked_us, progress_us;
    struct store_snapshot_sink *sink;
    struct buf chunk;
    struct store_snapshot_reader *reader;
    struct store_snapshot_meta meta;
    struct raft_snapshot_metadata library; /* the library's, until it is told that the snapshot is in place */
    bool library_owned;
    struct bytes data;
    int result;
};

static void receiving_free(struct receiving *x)
{
    x->shard->receiving = NULL;
    if (x->sink != NULL) {
        store_snapshot_receive_abort(x->sink);
    }
    if (x->reader != NULL) {
        store_snapshot_close(x->reader);
    }
    if (x->library_owned) {
        raft_configuration_close(&x->library.configuration);
    }
    buf_fini(&x->config);
    buf_fini(&x->chunk);
    free(x);
}

static void receiving_cancel(struct receiving *x)
{
    x->cancelled = true;
    if (!x->busy) {
        receiving_free(x);
    }
}

static void receiving_next(struct receiving *x, enum receiving_phase phase)
{
    x->phase = phase;
    x->busy = true;
    job_start(x->shard->core, &x->job);
}

static void receiving_run(struct core_job *job)
{
    struct receiving *x = CONTAINER_OF(job, struct receiving, job);
    const struct store_port *port = job->core->host.port;
    switch (x->phase) {
    case RECEIVE_OPEN:
        /* A file that arrived or was made before, and was not named in the log in time, is as good as the one offered: both are committed state. */
        x->result = store_snapshot_open(port, x->shard->id, x->index, &x->meta, &x->reader);
        if (x->result != 0) {
            x->reader = NULL;
            x->result = store_snapshot_receive(port, x->shard->id, x->index, x->last_term, &x->sink, &x->have);
        }
        break;
    case RECEIVE_ADD:
        x->result = store_snapshot_receive_add(x->sink, x->have, (struct bytes){x->chunk.ptr, (int32_t)x->chunk.len});
        break;
    case RECEIVE_COMMIT:
        x->result = store_snapshot_receive_commit(x->sink);
        x->sink = NULL;
        break;
    case RESTORE_OPEN:
        x->result = x->reader != NULL ? 0 : store_snapshot_open(port, x->shard->id, x->index, &x->meta, &x->reader);
        if (x->result == 0 && x->meta.index != x->index) {
            x->result = MUSTER_E_CORRUPT;
        }
        break;
    case RESTORE_NEXT:
        x->result = store_snapshot_next(x->reader, &x->data);
        break;
    default:
        break;
    }
}

static void answer_done(struct shard *s, uint32_t node, uint64_t term, uint64_t index)
{
    struct message m = {.type = MESSAGE_SNAPSHOT_DONE, .shard = s->id};
    m.snapshot.term = term;
    m.snapshot.index = index;
    core_post(s->core, NULL, node, CORE_RAFT, &m);
}

static void ask(struct receiving *x)
{
    struct replica *core = x->shard->core;
    struct message m = {.type = MESSAGE_SNAPSHOT_WANT, .shard = x->shard->id};
    m.snapshot.term = x->term;
    m.snapshot.index = x->index;
    m.snapshot.offset = x->have;
    x->asked_us = core->now_us;
    core_post(core, NULL, x->from, CORE_RAFT, &m);
}

static void fetch_or_commit(struct receiving *x)
{
    if (x->have >= x->file_bytes) {
        receiving_next(x, RECEIVE_COMMIT);
        return;
    }
    x->phase = RECEIVE_FETCH;
    x->progress_us = x->shard->core->now_us;
    ask(x);
}

static void restore_begin(struct receiving *x)
{
    struct shard *s = x->shard;
    if (x->phase != RESTORE_WAIT || !s->installing || x->busy || snapshot_busy(s)) {
        return; /* a snapshot of the old state is still being written; the next tick tries again */
    }
    receiving_next(x, RESTORE_OPEN);
}

/* The file is here and whole. The library decides whether it is still wanted. */
static void offer_to_library(struct receiving *x)
{
    struct shard *s = x->shard;
    const struct peer *p = peer_by_id(s->core, x->from);
    struct raft_message m = {.type = RAFT_INSTALL_SNAPSHOT};
    struct raft_install_snapshot *i = &m.install_snapshot;
    answer_done(s, x->from, x->term, x->index);
    x->phase = RESTORE_WAIT;
    if (p == NULL || x->term < raft_current_term(&s->raft) || s->raft.state == RAFT_LEADER || x->index <= s->applied) {
        receiving_free(x);
        return;
    }
    m.server_id = p->id;
    m.server_address = p->address;
    i->term = x->term;
    i->last_index = x->index;
    i->last_term = x->last_term;
    i->conf_index = x->config_index;
    i->data.base = raft_malloc(1);
    i->data.len = 1;
    MUSTER_CHECK(i->data.base != NULL && config_decode((struct bytes){x->config.ptr, (int32_t)x->config.len}, &i->conf) == 0);
    shard_receive(s, &m);
    if (s->installing) {
        restore_begin(x);
    } else {
        receiving_free(x);
    }
}

void install_wanted(struct shard *s, struct raft_update *update)
{
    struct replica *core = s->core;
    struct receiving *x = s->receiving;
    MUSTER_CHECK(x != NULL);
    raft_free(update->snapshot.chunk.base);
    x->library = update->snapshot.metadata;
    x->library_owned = true;
    s->installing = true;
    snapshot_close(s);
    core->pending_bytes -= s->pending_bytes;
    s->pending_bytes = 0;
    log_reset(&s->log, x->index, &core->limbo);
    s->queued_from = 0;
    s->writing_from = 0;
    s->writing_to = 0;
    s->mark_wanted = false;
}

static void use_present(struct receiving *x)
{
    uint64_t offered = x->index;
    answer_done(x->shard, x->from, x->term, offered);
    x->index = x->meta.index;
    x->last_term = x->meta.term;
    x->config_index = x->meta.config_index;
    buf_clear(&x->config);
    MUSTER_CHECK(buf_put(&x->config, x->meta.config.ptr, (size_t)x->meta.config.len) == 0);
    offer_to_library(x);
}

static void restore_finish(struct receiving *x)
{
    struct shard *s = x->shard;
    const struct replica_events *events = &s->core->events;
    if (events->restored(events->ctx, s->id, x->meta.index, x->meta.state_hash) != 0) {
        core_fatal(s->core, "shard %u: the state restored from the snapshot at entry %llu does not have the hash the snapshot carries",
                   s->id, (unsigned long long)x->meta.index);
        return;
    }
    x->phase = RESTORE_MARK;
    s->mark = (struct mark){.index = x->index, .term = x->last_term, .trim = x->index, .install = true};
    s->mark_wanted = true;
}

static void restore_advance(struct receiving *x)
{
    struct shard *s = x->shard;
    const struct replica_events *events = &s->core->events;
    if (x->phase == RESTORE_OPEN) {
        events->restore_begin(events->ctx, s->id, x->index, x->last_term);
        receiving_next(x, RESTORE_NEXT);
        return;
    }
    if (x->data.len == 0) {
        restore_finish(x);
        return;
    }
    if (events->restore_data(events->ctx, s->id, x->data) != 0) {
        core_fatal(s->core, "shard %u: the snapshot at entry %llu holds data that cannot be restored", s->id, (unsigned long long)x->index);
        return;
    }
    receiving_next(x, RESTORE_NEXT);
}

static void receiving_failed(struct receiving *x)
{
    struct shard *s = x->shard;
    log_event(LOG_ERROR, "snapshot_receive_failed", "node=%u shard=%u from=%u error=\"%s\"", s->core->self, s->id, x->from,
              muster_strerror(x->result));
    if (s->installing) {
        core_fatal(s->core, "shard %u: the received snapshot at entry %llu cannot be read back: %s", s->id, (unsigned long long)x->index,
                   muster_strerror(x->result));
        return;
    }
    if (x->result == MUSTER_E_FULL && s->core->host.make_room != NULL) {
        s->core->host.make_room(s->core->host.ctx);
    }
    receiving_free(x);
}

static void receiving_done(struct core_job *job)
{
    struct receiving *x = CONTAINER_OF(job, struct receiving, job);
    x->busy = false;
    if (x->cancelled || job->core->broken) {
        receiving_free(x);
        return;
    }
    if (x->result != 0) {
        receiving_failed(x);
        return;
    }
    switch (x->phase) {
    case RECEIVE_ADD:
        x->have += x->chunk.len;
        fetch_or_commit(x);
        break;
    case RECEIVE_OPEN:
        if (x->reader != NULL) {
            use_present(x);
        } else {
            fetch_or_commit(x);
        }
        break;
    case RECEIVE_COMMIT:
        offer_to_library(x);
        break;
    default:
        restore_advance(x);
        break;
    }
}

static void offered(struct shard *s, struct peer *p, const struct message_snapshot *offer)
{
    struct replica *core = s->core;
    struct receiving *x = s->receiving;
    if (s->installing || shard_leads(s) || offer->term < raft_current_term(&s->raft) || offer->file_bytes == 0) {
        return;
    }
    if (offer->index <= s->applied) {
        answer_done(s, p->id, offer->term, offer->index);
        return;
    }
    if (x != NULL && x->index == offer->index) {
        x->from = p->id;
        x->term = offer->term;
        if (x->phase == RECEIVE_FETCH) {
            ask(x);
        }
        return;
    }
    if (x != NULL) {
        receiving_cancel(x);
        if (s->receiving != NULL) {
            return; /* a job still runs; the leader offers again */
        }
    }
    x = calloc(1, sizeof *x);
    MUSTER_CHECK(x != NULL);
    x->shard = s;
    x->from = p->id;
    x->job.run = receiving_run;
    x->job.done = receiving_done;
    x->term = offer->term;
    x->index = offer->index;
    x->last_term = offer->last_term;
    x->config_index = offer->config_index;
    x->file_bytes = offer->file_bytes;
    x->progress_us = core->now_us;
    buf_init(&x->config, 0);
    buf_init(&x->chunk, 0);
    MUSTER_CHECK(buf_put(&x->config, offer->config.ptr, (size_t)offer->config.len) == 0);
    s->receiving = x;
    receiving_next(x, RECEIVE_OPEN);
}

static void chunk_arrived(struct shard *s, struct peer *p, const struct message_snapshot *c)
{
    struct receiving *x = s->receiving;
    if (x == NULL || x->phase != RECEIVE_FETCH || x->busy || x->from != p->id || c->index != x->index || c->offset != x->have ||
        c->data.len == 0 || c->file_bytes != x->file_bytes || (uint64_t)c->data.len > x->file_bytes - x->have) {
        return;
    }
    buf_clear(&x->chunk);
    MUSTER_CHECK(buf_put(&x->chunk, c->data.ptr, (size_t)c->data.len) == 0);
    receiving_next(x, RECEIVE_ADD);
}

void install_marked(struct shard *s, const struct mark *mark)
{
    struct replica *core = s->core;
    struct receiving *x = s->receiving;
    MUSTER_CHECK(x != NULL && s->installing && x->index == mark->index);
    uint64_t state_hash = x->meta.state_hash;
    struct raft_event event = {.type = RAFT_PERSISTED_SNAPSHOT};
    event.persisted_snapshot.metadata = x->library;
    event.persisted_snapshot.last = true;
    x->library_owned = false;
    s->installing = false;
    s->applied = mark->index;
    s->snapshot_bytes = s->applied_bytes;
    s->snapshot_index = mark->index;
    s->snapshot_term = mark->term;
    s->config_index = x->config_index;
    buf_clear(&s->config);
    MUSTER_CHECK(buf_put(&s->config, x->config.ptr, x->config.len) == 0);
    core->stats.snapshots_installed++;
    receiving_free(x);
    shard_step(s, &event);
    members_applied(s, s->config_index, (struct bytes){s->config.ptr, (int32_t)s->config.len});
    s->disk_trim = mark->trim;
    core->host.trim(core->host.ctx, s->id, mark->trim);
    hash_snapshot(s, mark->index, state_hash);
}

/* ---- both --------------------------------------------------------------------------------------------------------------------- */

int install_message(struct replica *core, struct peer *p, const struct message *m)
{
    struct shard *s = &core->shards[m->shard];
    switch (m->type) {
    case MESSAGE_SNAPSHOT_OFFER:
        offered(s, p, &m->snapshot);
        return 0;
    case MESSAGE_SNAPSHOT_WANT:
        sending_wanted(s, p->id, &m->snapshot);
        return 0;
    case MESSAGE_SNAPSHOT_CHUNK:
        chunk_arrived(s, p, &m->snapshot);
        return 0;
    case MESSAGE_SNAPSHOT_DONE:
        sending_finished(s, p->id, m->snapshot.index);
        return 0;
    default:
        return MUSTER_E_MALFORMED;
    }
}

void install_tick(struct replica *core)
{
    for (struct sending *x = core->sendings, *next; x != NULL; x = next) {
        next = x->next;
        if (x->busy) {
            continue;
        }
        if (core->now_us - x->active_us > GIVE_UP_US || !shard_leads(x->shard)) {
            sending_free(x);
        } else if (!x->compared) {
            offer_compared(x);
        }
    }
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct receiving *x = core->shards[i].receiving;
        if (x == NULL || x->busy) {
            continue;
        }
        if (x->phase == RESTORE_WAIT) {
            restore_begin(x);
        } else if (x->phase == RECEIVE_FETCH && (x->index <= x->shard->applied || core->now_us - x->progress_us > GIVE_UP_US)) {
            receiving_free(x); /* what it is about has come with the log meanwhile; or nobody sends it */
        } else if (x->phase == RECEIVE_FETCH && core->now_us - x->asked_us > ASK_AGAIN_US) {
            ask(x);
        }
    }
}

void install_close(struct replica *core)
{
    for (struct sending *x = core->sendings, *next; x != NULL; x = next) {
        next = x->next;
        sending_free(x);
    }
    for (uint32_t i = 0; i < core->shard_count; i++) {
        if (core->shards[i].receiving != NULL) {
            receiving_free(core->shards[i].receiving);
        }
    }
}
