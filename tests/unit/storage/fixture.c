/* fixture.c: see fixture.h. */
#include "fixture.h"

#include <inttypes.h>

/* ---- the twin ---------------------------------------------------------------------------------------------------------- */

struct twin *twin_new(void)
{
    struct twin *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    return t;
}

void twin_copy(struct twin *to, const struct twin *from)
{
    memcpy(to, from, sizeof(*to));
}

static void twin_put(struct twin_shard *s, const struct store_record *r)
{
    assert_true(r->index < TWIN_ENTRIES);
    int32_t len = r->payload.len > 0 ? r->payload.len : 0;
    s->entries[r->index] = (struct twin_entry){r->term, hash_bytes(r->payload.ptr, (size_t)len, 0), len, r->entry_type};
    s->last = r->index;
}

void twin_apply(struct twin *t, const struct store_record *r)
{
    struct twin_shard *s = &t->shards[r->shard];
    switch (r->kind) {
    case STORE_ENTRY:
        twin_put(s, r);
        break;
    case STORE_TERM:
        s->term = r->term;
        s->vote = r->vote;
        break;
    default: {
        bool is_old = r->index == s->snapshot_index && r->term == s->snapshot_term;
        bool has_entry = r->index > s->trim && r->index <= s->last && s->entries[r->index].term == r->term;
        s->snapshot_index = r->index;
        s->snapshot_term = r->term;
        s->trim = r->trim > s->trim ? r->trim : s->trim;
        if (!is_old && !has_entry) {
            s->trim = r->index;
            s->last = r->index;
        }
        break;
    }
    }
}

static const char *shard_difference(const struct twin_shard *x, const struct twin_shard *y, uint32_t shard)
{
    static char text[200];
    if (x->term != y->term || x->vote != y->vote) {
        (void)snprintf(text, sizeof(text), "shard %" PRIu32 ": term/vote %" PRIu64 "/%" PRIu64 " against %" PRIu64 "/%" PRIu64, shard,
                       x->term, x->vote, y->term, y->vote);
        return text;
    }
    if (x->snapshot_index != y->snapshot_index || x->snapshot_term != y->snapshot_term || x->trim != y->trim || x->last != y->last) {
        (void)snprintf(text, sizeof(text),
                       "shard %" PRIu32 ": snapshot/trim/last %" PRIu64 "/%" PRIu64 "/%" PRIu64 " against %" PRIu64 "/%" PRIu64 "/%" PRIu64,
                       shard, x->snapshot_index, x->trim, x->last, y->snapshot_index, y->trim, y->last);
        return text;
    }
    for (uint64_t i = x->trim + 1; i <= x->last; i++) {
        const struct twin_entry *a = &x->entries[i];
        const struct twin_entry *b = &y->entries[i];
        if (a->term != b->term || a->hash != b->hash || a->len != b->len || a->type != b->type) {
            (void)snprintf(text, sizeof(text), "shard %" PRIu32 ": entry %" PRIu64 " of term %" PRIu64 " against term %" PRIu64, shard, i,
                           a->term, b->term);
            return text;
        }
    }
    return NULL;
}

const char *twin_difference(const struct twin *a, const struct twin *b)
{
    for (uint32_t shard = 0; shard < TWIN_SHARDS; shard++) {
        const char *text = shard_difference(&a->shards[shard], &b->shards[shard], shard);
        if (text != NULL) {
            return text;
        }
    }
    return NULL;
}

/* ---- recovery into a twin --------------------------------------------------------------------------------------------------- */

static void on_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    struct box *b = ctx;
    struct twin_shard *s = &b->found->shards[shard];
    memset(s, 0, sizeof(*s));
    s->term = state->term;
    s->vote = state->vote;
    s->snapshot_index = state->snapshot_index;
    s->snapshot_term = state->snapshot_term;
    s->trim = state->first_index - 1;
    s->last = state->last_index;
    b->found_shards++;
}

static void on_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    struct box *b = ctx;
    struct twin_shard *s = &b->found->shards[shard];
    assert_int_equal(b->found_shards, TWIN_SHARDS); /* all of them first */
    assert_true(index > s->trim && index <= s->last && index < TWIN_ENTRIES);
    assert_true(index == s->trim + 1 || s->entries[index - 1].term != 0); /* in order, without a gap */
    assert_true(s->entries[index].term == 0);                             /* each once */
    s->entries[index] = (struct twin_entry){term, hash_bytes(payload.ptr, (size_t)payload.len, 0), payload.len, entry_type};
}

static void on_warning(void *ctx, const char *text)
{
    struct box *b = ctx;
    assert_non_null(text);
    b->warnings++;
}

/* ---- the box ---------------------------------------------------------------------------------------------------------------- */

void box_init(struct box *b, uint64_t segment_bytes, uint64_t reserve_bytes)
{
    *b = (struct box){.disk = mem_disk_new(), .found = twin_new()};
    b->options = (struct store_options){
        .shard_count = TWIN_SHARDS,
        .segment_bytes = segment_bytes,
        .reserve_bytes = reserve_bytes,
        .entry_max_bytes = 100000,
        .warn = on_warning,
        .warn_ctx = b,
    };
}

void box_fini(struct box *b)
{
    store_close(b->store);
    mem_disk_free(b->disk);
    free(b->found);
}

static int open_on(struct box *b, struct mem_disk *disk, struct store_port *port, struct store **ret)
{
    struct store_recovery recovery = {b, on_shard, on_entry};
    memset(b->found, 0, sizeof(*b->found));
    b->found_shards = 0;
    mem_disk_port(disk, port);
    return store_open(ret, port, &b->options, &recovery, &b->report);
}

int box_open(struct box *b)
{
    assert_null(b->store);
    int rc = open_on(b, b->disk, &b->port, &b->store);
    if (rc < 0) {
        mem_disk_end_process(b->disk, &b->port);
    }
    return rc;
}

int box_open_disk(struct box *b, struct mem_disk *disk)
{
    struct store_port port;
    struct store *store = NULL;
    int rc = open_on(b, disk, &port, &store);
    store_close(store);
    mem_disk_end_process(disk, &port);
    return rc;
}

void box_close(struct box *b)
{
    store_close(b->store);
    b->store = NULL;
    mem_disk_end_process(b->disk, &b->port);
}

void box_kill(struct box *b)
{
    mem_disk_end_process(b->disk, &b->port);
    store_close(b->store);
    b->store = NULL;
}

void box_crash(struct box *b, uint64_t seed)
{
    struct prng random;
    prng_seed(&random, seed);
    mem_disk_crash(b->disk, &random);
    store_close(b->store);
    b->store = NULL;
}

struct store_record rec_entry(uint32_t shard, uint64_t index, uint64_t term, const char *payload)
{
    return (struct store_record){
        .kind = STORE_ENTRY,
        .entry_type = 1,
        .shard = shard,
        .term = term,
        .index = index,
        .payload = {(const uint8_t *)payload, (int32_t)strlen(payload)},
    };
}

struct store_record rec_term(uint32_t shard, uint64_t term, uint64_t vote)
{
    return (struct store_record){.kind = STORE_TERM, .shard = shard, .term = term, .vote = vote};
}

struct store_record rec_snapshot(uint32_t shard, uint64_t index, uint64_t term, uint64_t trim)
{
    return (struct store_record){.kind = STORE_SNAPSHOT, .shard = shard, .term = term, .index = index, .trim = trim};
}

int box_write(struct box *b, struct store_record r)
{
    return store_write(b->store, &r, 1);
}

void box_fill(struct box *b, uint32_t shard, uint64_t first, uint64_t last, uint64_t term, const char *payload)
{
    for (uint64_t i = first; i <= last; i++) {
        assert_int_equal(box_write(b, rec_entry(shard, i, term, payload)), 0);
    }
}

void make_snapshot(const struct store_port *port, uint32_t shard, uint64_t index, uint64_t term)
{
    struct store_snapshot_writer *w = NULL;
    struct store_snapshot_meta meta = {
        .shard = shard, .index = index, .term = term, .config_index = 1, .config = {(const uint8_t *)"conf", 4}, .state_hash = index * 31};
    assert_int_equal(store_snapshot_create(port, &meta, &w), 0);
    assert_int_equal(store_snapshot_add(w, (struct bytes){(const uint8_t *)"first run", 9}), 0);
    assert_int_equal(store_snapshot_add(w, (struct bytes){(const uint8_t *)"second", 6}), 0);
    assert_int_equal(store_snapshot_commit(w), 0);
}

bool box_has_name(const struct box *b, const char *end)
{
    size_t len = strlen(end);
    for (size_t i = 0; i < mem_disk_file_count(b->disk); i++) {
        const char *name = mem_disk_file_name(b->disk, i);
        if (strlen(name) >= len && strcmp(name + strlen(name) - len, end) == 0) {
            return true;
        }
    }
    return false;
}
