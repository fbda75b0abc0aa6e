/* What must be on disk, gathered into one batch at a time.
 *
 * Nothing is queued by copy: a shard only remembers from which index on its in-memory log is unwritten, so an entry cut off before it was
 * written is never written, and an entry written again after a cut is reported only when its last write is done. */
#include "state.h"

#include <stdlib.h>

enum { FULL_RETRY_US = 500000, TERMS_RETRY_US = 20000 };

void persist_entries(struct shard *s, uint64_t from)
{
    if (s->queued_from == 0 || from < s->queued_from) {
        s->queued_from = from;
    }
}

static struct store_record *add_record(struct replica *core)
{
    if (core->record_count == core->record_cap) {
        size_t cap = core->record_cap == 0 ? 64 : core->record_cap * 2;
        struct store_record *wider = realloc(core->records, cap * sizeof *wider);
        MUSTER_CHECK(wider != NULL);
        core->records = wider;
        core->record_cap = cap;
    }
    struct store_record *r = &core->records[core->record_count++];
    *r = (struct store_record){0};
    return r;
}

static void gather_term(struct shard *s)
{
    if (s->term_version == s->term_durable) {
        return;
    }
    struct store_record *r = add_record(s->core);
    r->kind = STORE_TERM;
    r->shard = s->id;
    r->term = raft_current_term(&s->raft);
    r->vote = raft_voted_for(&s->raft);
    s->term_writing = s->term_version;
}

static void gather_mark(struct shard *s)
{
    if (!s->mark_wanted || (s->queued_from != 0 && s->queued_from <= s->mark.index)) {
        return; /* the log names a snapshot only when it has, or has had, all entries up to there */
    }
    struct store_record *r = add_record(s->core);
    r->kind = STORE_SNAPSHOT;
    r->shard = s->id;
    r->index = s->mark.index;
    r->term = s->mark.term;
    r->trim = s->mark.trim;
    s->mark_wanted = false;
    s->mark_writing = true;
    s->mark_written = s->mark;
}

static uint64_t gather_entries(struct shard *s, uint64_t room)
{
    uint64_t bytes = 0;
    if (s->queued_from == 0) {
        return 0;
    }
    if (s->queued_from < s->log.first) {
        s->queued_from = s->log.first; /* trimmed: a snapshot holds them */
    }
    uint64_t index = s->queued_from;
    for (; index <= s->log.last && bytes < room; index++) {
        const struct entry *e = log_get(&s->log, index);
        struct store_record *r = add_record(s->core);
        r->kind = STORE_ENTRY;
        r->entry_type = e->type;
        r->shard = s->id;
        r->term = e->term;
        r->index = index;
        r->payload = (struct bytes){e->data, (int32_t)e->len};
        bytes += entry_bytes(e);
    }
    if (index > s->queued_from) {
        s->writing_from = s->queued_from;
        s->writing_to = index - 1;
    }
    s->queued_from = index <= s->log.last ? index : 0;
    return bytes;
}

/* Entries of the shard up to this index are on disk. */
static void entries_durable(struct shard *s, uint64_t index)
{
    const struct raft *r = &s->raft;
    if (s->queued_from != 0 && index >= s->queued_from) {
        index = s->queued_from - 1; /* cut and written anew meanwhile */
    }
    if (index > s->log.last || index <= r->last_stored || r->state == RAFT_CANDIDATE || s->installing) {
        return;
    }
    struct raft_event event = {.type = RAFT_PERSISTED_ENTRIES};
    event.persisted_entries.index = index;
    shard_step(s, &event);
}

void persist_start(struct replica *core)
{
    if (core->writing || core->broken) {
        return;
    }
    if (core->now_us < core->terms_retry_us) {
        return;
    }
    bool entries = !core->full || core->now_us >= core->full_retry_us;
    uint64_t room = core->options.batch_max_bytes;
    core->record_count = 0;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        s->writing_from = 0;
        s->writing_to = 0;
        s->term_writing = s->term_durable;
        gather_term(s);
        if (!entries) {
            continue; /* a full disk still takes votes: the store keeps a reserve for them */
        }
        gather_mark(s); /* before entries that only make sense behind the snapshot, ... */
        if (room > 0) {
            uint64_t taken = gather_entries(s, room);
            room -= taken < room ? taken : room;
        }
        gather_mark(s); /* ... or behind those it covers */
    }
    if (core->record_count == 0) {
        return;
    }
    core->writing = true;
    core->write_started_us = core->now_us;
    core->stats.batches++;
    core->host.persist(core->host.ctx, core->records, core->record_count);
#ifdef MUSTER_FAULT_ANSWER_BEFORE_PERSIST
    for (uint32_t i = 0; i < core->shard_count; i++) {
        if (core->shards[i].writing_to != 0) {
            entries_durable(&core->shards[i], core->shards[i].writing_to);
        }
    }
#endif
}

static void batch_failed(struct replica *core)
{
    core->stats.batches_full++;
    if (!core->full) {
        log_event(LOG_ERROR, "disk_full", "node=%u the log takes no more entries; leadership moves to nodes that can write", core->self);
    }
    core->full = true;
    core->full_retry_us = core->now_us + FULL_RETRY_US;
    bool only_terms = true;
#ifdef MUSTER_FAULT_FULL_FOR_EVER
    core->full_retry_us = INT64_MAX;
#endif
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        only_terms = only_terms && !s->mark_writing && s->writing_to == 0;
        if (s->mark_writing && !s->mark_wanted) {
            s->mark = s->mark_written;
            s->mark_wanted = true;
        }
        s->mark_writing = false;
        if (s->writing_from != 0 && s->writing_from <= s->log.last) {
            persist_entries(s, s->writing_from);
        }
    }
    core->terms_retry_us = only_terms ? core->now_us + TERMS_RETRY_US : 0; /* nothing is left, not even the reserve */
}

static void batch_done(struct replica *core)
{
    bool entries = false;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        s->term_durable = s->term_writing;
        entries = entries || s->writing_to != 0 || s->mark_writing;
    }
    if (entries && core->full) {
        core->full = false;
        log_event(LOG_INFO, "disk_recovered", "node=%u the log takes entries again", core->self);
    }
    core_release_held(core);
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        if (s->writing_to != 0) {
            entries_durable(s, s->writing_to);
        }
        if (s->mark_writing) {
            s->mark_writing = false;
            if (s->mark_written.install) {
                install_marked(s, &s->mark_written);
            } else {
                snapshot_marked(s, &s->mark_written);
            }
        }
    }
}

void core_persisted(struct replica *core, int result, int64_t now_us)
{
    MUSTER_CHECK(core->writing);
    core->now_us = now_us;
    core->writing = false;
    log_limbo_clear(&core->limbo);
    if (core->broken) {
        return;
    }
#ifdef MUSTER_FAULT_FULL_COUNTS_AS_WRITTEN
    result = result == MUSTER_E_FULL ? 0 : result;
#endif
    if (result == MUSTER_E_FULL) {
        batch_failed(core);
    } else if (result != 0) {
        core_fatal(core, "writing the log failed (%s): what is on disk is unknown, so this node stops", muster_strerror(result));
    } else {
        batch_done(core);
    }
}
