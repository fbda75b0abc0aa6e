/* shard.c: the rules by which records change a shard. */
#include "shard.h"

#include <stdlib.h>
#include <string.h>

bool shard_state_valid(const struct store_checkpoint *at)
{
    return at->trim <= at->snapshot_index && at->snapshot_index <= at->last_index && at->last_index < SHARD_INDEX_LIMIT;
}

static int check_entry(const struct store_checkpoint *at, const struct store_record *r)
{
    bool fits = r->index > at->trim && r->index > at->snapshot_index && r->index <= at->last_index + 1;
    return fits && r->term > 0 && r->index < SHARD_INDEX_LIMIT ? MUSTER_E_OK : MUSTER_E_INVALID;
}

static int check_term(const struct store_checkpoint *at, const struct store_record *r)
{
    bool second_vote = r->term == at->term && at->vote != 0 && r->vote != at->vote;
    return r->term >= at->term && !second_vote ? MUSTER_E_OK : MUSTER_E_INVALID;
}

static int check_snapshot(const struct store_checkpoint *at, const struct store_record *r)
{
    bool grows = r->index > 0 && r->index >= at->snapshot_index && r->index < SHARD_INDEX_LIMIT;
    bool keeps = r->entry_type == SNAPSHOT_EMPTIES_LOG || r->index <= at->last_index;
    return grows && keeps && r->trim >= at->trim && r->trim <= r->index ? MUSTER_E_OK : MUSTER_E_INVALID;
}

int shard_state_check(const struct store_checkpoint *at, const struct store_record *r)
{
    switch (r->kind) {
    case STORE_ENTRY:
        return check_entry(at, r);
    case STORE_TERM:
        return check_term(at, r);
    case STORE_SNAPSHOT:
        return check_snapshot(at, r);
    default:
        return MUSTER_E_INVALID;
    }
}

static void apply_snapshot(struct store_checkpoint *at, const struct store_record *r)
{
    at->snapshot_index = r->index;
    at->snapshot_term = r->term;
    at->trim = r->trim;
    if (r->entry_type == SNAPSHOT_EMPTIES_LOG) {
        at->trim = r->index;
        at->last_index = r->index;
    }
}

void shard_state_apply(struct store_checkpoint *at, const struct store_record *r)
{
    MUSTER_CHECK(shard_state_check(at, r) == MUSTER_E_OK);
    switch (r->kind) {
    case STORE_ENTRY:
        at->last_index = r->index;
        break;
    case STORE_TERM:
        at->term = r->term;
        at->vote = r->vote;
        break;
    default:
        apply_snapshot(at, r);
        break;
    }
}

void shard_log_fini(struct shard_log *s)
{
    free(s->runs);
    *s = (struct shard_log){0};
}

int shard_log_reserve(struct shard_log *s, size_t more_runs)
{
    size_t need = s->run_count + more_runs;
    if (need <= s->run_cap) {
        return MUSTER_E_OK;
    }
    size_t cap = s->run_cap == 0 ? 8 : s->run_cap;
    while (cap < need) {
        cap *= 2;
    }
    struct term_run *runs = realloc(s->runs, cap * sizeof(*runs));
    if (runs == NULL) {
        return MUSTER_E_LIMIT;
    }
    s->runs = runs;
    s->run_cap = cap;
    return MUSTER_E_OK;
}

static void entry_runs(struct shard_log *s, const struct store_record *r)
{
    while (s->run_count > 0 && s->runs[s->run_count - 1].first_index >= r->index) {
        s->run_count--;
    }
    if (s->run_count > 0 && s->runs[s->run_count - 1].term == r->term) {
        return;
    }
    MUSTER_CHECK(s->run_count < s->run_cap);
    s->runs[s->run_count++] = (struct term_run){r->index, r->term};
}

/* Runs that end before trim are of no use; the one that covers trim stays. */
static void snapshot_runs(struct shard_log *s, const struct store_record *r)
{
    if (r->entry_type == SNAPSHOT_EMPTIES_LOG) {
        s->run_count = 0;
        return;
    }
    size_t gone = 0;
    while (gone + 1 < s->run_count && s->runs[gone + 1].first_index <= s->at.trim) {
        gone++;
    }
    if (gone > 0) {
        memmove(s->runs, s->runs + gone, (s->run_count - gone) * sizeof(*s->runs));
        s->run_count -= gone;
    }
}

void shard_log_apply(struct shard_log *s, const struct store_record *r)
{
    shard_state_apply(&s->at, r);
    if (r->kind == STORE_ENTRY) {
        entry_runs(s, r);
    } else if (r->kind == STORE_SNAPSHOT) {
        snapshot_runs(s, r);
    }
}

uint64_t shard_log_term_at(const struct shard_log *s, uint64_t index)
{
    if (index > s->at.last_index) {
        return 0;
    }
    for (size_t i = s->run_count; i > 0; i--) {
        if (s->runs[i - 1].first_index <= index) {
            return s->runs[i - 1].term;
        }
    }
    return 0;
}
