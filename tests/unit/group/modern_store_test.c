/* streams_store_test.c: the state of streams groups is what its records say, whatever their order, through snapshots and on overlays. Beside each set stands a
 * plain list of what is live: key, value, nothing else. */
#include "tests.h"

#include <string.h>

#include "state.h"
#include "streams/streams.h"
#include "streams_records.h"

enum { GROUPS = 2, MEMBERS = 4, LIVE = 128, SEEDS = 60, STEPS = 300 };

/* ---- the list --------------------------------------------------------------------------------------------------------------- */

struct live {
    struct record v[LIVE];
    size_t len;
};

static uint64_t hash_of(struct record r)
{
    return hash_bytes(r.value.ptr, (size_t)r.value.len, hash_bytes(r.key.ptr, (size_t)r.key.len, 0));
}

static size_t live_find(const struct live *l, struct bytes key)
{
    size_t i = 0;
    while (i < l->len && !bytes_eq(l->v[i].key, key)) {
        i++;
    }
    return i;
}

static void live_apply(struct live *l, struct record r)
{
    size_t i = live_find(l, r.key);
    if (r.value.len < 0) {
        if (i < l->len) {
            l->v[i] = l->v[--l->len];
        }
        return;
    }
    assert_true(i < LIVE);
    l->v[i] = r;
    l->len += i == l->len ? 1 : 0;
}

static uint64_t live_hash(const struct live *l)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < l->len; i++) {
        hash += hash_of(l->v[i]);
    }
    return hash;
}

/* ---- the fixture ---------------------------------------------------------------------------------------------------------------- */

struct fixture {
    struct pool pool;
    struct group_set *set;
    struct arena records, scratch;
    struct prng prng;
    struct record_draw draw;
    struct live live;
};

static uint64_t draw_below(void *ctx, uint64_t bound)
{
    return prng_below(ctx, bound);
}

static void begin(struct fixture *f, uint64_t seed)
{
    memset(f, 0, sizeof *f);
    f->set = group_set_new(&f->pool, 1);
    arena_init(&f->records, 0);
    arena_init(&f->scratch, 0);
    prng_seed(&f->prng, seed);
    f->draw = (struct record_draw){.ctx = &f->prng, .below = draw_below, .arena = &f->records, .groups = GROUPS, .members = MEMBERS};
}

static void end(struct fixture *f)
{
    group_set_free(f->set);
    assert_int_equal(f->pool.bytes, 0);
    assert_int_equal(f->pool.objects, 0);
    arena_fini(&f->records);
    arena_fini(&f->scratch);
}

static void apply_to(struct fixture *f, struct group_set *set, struct record r)
{
    assert_true(group_apply(set, 1, r, &f->scratch));
    arena_clear(&f->scratch);
}

static void apply(struct fixture *f, struct record r)
{
    apply_to(f, f->set, r);
    live_apply(&f->live, r);
}

/* Records of a classic group and an offset under the same ids. */
static struct record draw_other(struct fixture *f)
{
    struct str group = arena_printf(&f->records, "g-%d", (int)prng_below(&f->prng, GROUPS));
    bool gone = prng_below(&f->prng, 3) == 0;
    if (prng_below(&f->prng, 2) == 0) {
        struct classic_group_key key = {.group_id = group};
        struct classic_group_value value;
        wire_init(&wire_classic_group_value, &value);
        value.generation = (int32_t)prng_below(&f->prng, 9);
        return wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, gone ? NULL : &value, &f->records);
    }
    struct offset_commit_key key = {.group = group, .topic = STR("ta"), .partition = (int32_t)prng_below(&f->prng, 2)};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = (int64_t)prng_below(&f->prng, 99);
    return wire_record_encode(RECORD_OFFSET_COMMIT, &key, 4, gone ? NULL : &value, &f->records);
}

static struct record draw_record(struct fixture *f)
{
    return prng_below(&f->prng, 10) == 0 ? draw_other(f) : draw_streams_record(&f->draw);
}

/* ---- snapshots ------------------------------------------------------------------------------------------------------------------- */

static struct bytes cut_bytes(struct bytes *in)
{
    int32_t len = (int32_t)get_be32(in->ptr);
    struct bytes b = {in->ptr + 4, len};
    in->ptr += 4 + (len > 0 ? len : 0);
    in->len -= 4 + (len > 0 ? len : 0);
    return b;
}

/* The run holds the list, each once, and besides only the shard's own records and revisions. */
static void assert_run_is(const struct buf *run, const struct live *live)
{
    struct bytes in = {run->ptr, (int32_t)run->len};
    size_t seen = 0;
    uint64_t hash = 0;
    while (in.len > 0) {
        struct record r;
        r.key = cut_bytes(&in);
        r.value = cut_bytes(&in);
        int type = (int16_t)get_be16(r.key.ptr);
        if (type == RECORD_GROUP_REVISION || type == RECORD_SNAPSHOT_STATE) {
            continue;
        }
        size_t i = live_find(live, r.key);
        assert_true(i < live->len && bytes_eq(live->v[i].value, r.value));
        hash += hash_of(r);
        seen++;
    }
    assert_int_equal(seen, live->len);
    assert_true(hash == live_hash(live));
}

static void restore_and_compare(struct fixture *f, const struct buf *run, const struct group_set_counts *counts, const struct live *live)
{
    struct pool pool = {0};
    struct group_set *copy = group_set_new(&pool, 1);
    assert_int_equal(group_restore(copy, (struct bytes){run->ptr, (int32_t)run->len}, &f->scratch), 0);
    assert_true(group_set_hash(copy) == live_hash(live));
    struct group_set_counts restored;
    group_set_counts(copy, &restored);
    assert_int_equal(restored.groups, counts->groups);
    assert_int_equal(restored.members, counts->members);
    assert_int_equal(restored.offsets, counts->offsets);
    group_set_free(copy);
    assert_int_equal(pool.bytes, 0);
}

/* A snapshot in slices, with so many records applied between them, is the state at its beginning. */
static void snapshot_with_changes(struct fixture *f, int changes)
{
    struct live then = f->live;
    struct group_set_counts counts;
    struct buf run;
    buf_init(&run, 0);
    group_set_counts(f->set, &counts);
    size_t budget = 1 + (size_t)prng_below(&f->prng, 200);
    group_snapshot_begin(f->set);
    while (group_snapshot_next(f->set, budget, &run)) {
        for (int i = 0; i < changes; i++) {
            apply(f, draw_record(f));
        }
    }
    group_snapshot_end(f->set);
    assert_run_is(&run, &then);
    restore_and_compare(f, &run, &counts, &then);
    buf_fini(&run);
}

/* ---- what holds of every state ------------------------------------------------------------------------------------------------------ */

static void check_slots(const struct streams *s)
{
    int32_t members = 0, instances = 0;
    for (int32_t i = 0; i < s->slot_count; i++) {
        const struct modern_slot *slot = &s->slots[i];
        assert_true(i == 0 || str_cmp(s->slots[i - 1].member_id, slot->member_id) < 0);
        assert_true(slot->member != NULL || slot->target.held != NULL || slot->current != NULL || slot->offsets != NULL);
        assert_ptr_equal(streams_member(s, slot->member_id), slot->member == NULL ? NULL : slot);
        members += slot->member != NULL ? 1 : 0;
        if (slot->member == NULL || str_is_null(slot->member->instance_id)) {
            continue;
        }
        instances++;
        const struct modern_slot *by_instance = streams_by_instance(s, slot->member->instance_id);
        assert_non_null(by_instance);
        assert_true(str_eq(by_instance->member->instance_id, slot->member->instance_id));
    }
    assert_int_equal(s->member_count, members);
    assert_int_equal(s->instance_count, instances);
}

/* The records of a group, asked for one after the other, ascend and are those of the list. */
static size_t check_walk(const struct group *g, const struct live *live)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct record r;
    struct bytes last = BYTES_NULL, key;
    size_t count = 0;
    while (streams_key_after(g, last, &arena, &key)) {
        assert_true(last.len < 0 || streams_key_cmp(last, key) < 0);
        assert_true(streams_key_cmp(key, key) == 0);
        assert_true(streams_record(g, key, &arena, &r) && bytes_eq(r.key, key));
        size_t i = live_find(live, key);
        assert_true(i < live->len && bytes_eq(live->v[i].value, r.value));
        last = key;
        count++;
    }
    arena_fini(&arena);
    return count;
}

static void check_set(const struct group_set *set, const struct live *live)
{
    size_t records = 0, expected = 0;
    int64_t members = 0, groups = 0;
    for (struct str id = group_set_next(set, STR_NULL); !str_is_null(id); id = group_set_next(set, id)) {
        const struct group *g = group_find(set, id);
        groups++;
        if (g->streams == NULL) {
            continue;
        }
        assert_false(streams_is_gone(g->streams));
        check_slots(g->streams);
        members += g->streams->member_count;
        records += check_walk(g, live);
    }
    for (size_t i = 0; i < live->len; i++) {
        expected += is_streams_record((int16_t)get_be16(live->v[i].key.ptr)) ? 1 : 0;
    }
    assert_int_equal(records, expected);
    struct group_set_counts counts;
    group_set_counts(set, &counts);
    assert_int_equal(counts.members, members);
    assert_int_equal(counts.groups, groups);
    assert_true(group_set_hash(set) == live_hash(live));
}

/* ---- records ------------------------------------------------------------------------------------------------------------------------ */

static void the_state_is_what_the_records_say(void **unused)
{
    (void)unused;
    size_t most = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fixture f;
        begin(&f, seed);
        for (int i = 0; i < STEPS; i++) {
            apply(&f, draw_record(&f));
            check_set(f.set, &f.live);
            most = f.live.len > most ? f.live.len : most;
        }
        end(&f);
    }
    assert_true(most > 25);
}

static void snapshots_are_the_state_at_their_beginning(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fixture f;
        begin(&f, seed);
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < STEPS / 10; i++) {
                apply(&f, draw_record(&f));
            }
            snapshot_with_changes(&f, (int)prng_below(&f.prng, 4));
            check_set(f.set, &f.live);
        }
        end(&f);
    }
}

static void shuffle(struct prng *prng, struct live *l)
{
    for (size_t i = l->len; i > 1; i--) {
        size_t k = (size_t)prng_below(prng, i);
        struct record swap = l->v[i - 1];
        l->v[i - 1] = l->v[k];
        l->v[k] = swap;
    }
}

static void order_does_not_matter(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fixture f, other;
        begin(&f, seed);
        begin(&other, seed + 1000);
        for (int i = 0; i < STEPS; i++) {
            apply(&f, draw_record(&f));
        }
        struct live shuffled = f.live;
        shuffle(&f.prng, &shuffled);
        for (size_t i = 0; i < shuffled.len; i++) {
            apply(&other, shuffled.v[i]);
        }
        check_set(other.set, &f.live);
        struct group_set_counts a, b;
        group_set_counts(f.set, &a);
        group_set_counts(other.set, &b);
        assert_int_equal(a.members, b.members);
        assert_int_equal(a.groups, b.groups);
        for (struct str id = group_set_next(f.set, STR_NULL); !str_is_null(id); id = group_set_next(f.set, id)) {
            struct group_listing in_one, in_other;
            assert_true(group_listing(f.set, id, &in_one) && group_listing(other.set, id, &in_other));
            assert_true(str_eq(in_one.type, in_other.type) && str_eq(in_one.state, in_other.state));
        }
        end(&f);
        end(&other);
    }
}

static void tombstones_leave_nothing(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fixture f;
        begin(&f, seed);
        size_t empty = f.pool.bytes, objects = f.pool.objects;
        for (int i = 0; i < STEPS; i++) {
            apply(&f, draw_record(&f));
        }
        struct live all = f.live;
        shuffle(&f.prng, &all);
        for (size_t i = 0; i < all.len; i++) {
            struct record gone = {all.v[i].key, BYTES_NULL};
            apply(&f, gone);
            apply(&f, gone); /* once more does nothing */
        }
        assert_int_equal(f.pool.bytes, empty);
        assert_int_equal(f.pool.objects, objects);
        assert_true(group_set_hash(f.set) == 0);
        assert_true(str_is_null(group_set_next(f.set, STR_NULL)));
        end(&f);
    }
}

/* ---- overlays ------------------------------------------------------------------------------------------------------------------------- */

/* The list without offsets, which overlays do not have, and without the other groups. */
static struct live of_group(const struct live *l, struct str group_id)
{
    struct live own = {.len = 0};
    for (size_t i = 0; i < l->len; i++) {
        struct bytes key = l->v[i].key;
        struct str id = {(const char *)key.ptr + 4, get_be16(key.ptr + 2)};
        if (is_streams_record((int16_t)get_be16(key.ptr)) && str_eq(id, group_id)) {
            own.v[own.len++] = l->v[i];
        }
    }
    return own;
}

static void check_overlay(const struct group_set *overlay, struct str group_id, const struct live *live)
{
    struct live own = of_group(live, group_id);
    const struct group *g = group_find(overlay, group_id);
    size_t records = g == NULL ? 0 : check_walk(g, &own);
    assert_int_equal(records, own.len);
    if (g != NULL && g->streams != NULL) {
        check_slots(g->streams);
    }
}

/* Both change while both live; each sees its own, and whichever goes first takes nothing from the other. */
static void overlays_and_their_base_keep_apart(void **unused)
{
    (void)unused;
    struct str group_id = STR("g-0");
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fixture f;
        begin(&f, seed);
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 20; i++) {
                apply(&f, draw_record(&f));
            }
            struct live base = f.live, on_overlay = f.live;
            struct group_set *overlay = group_overlay_new(f.set, group_id);
            bool base_moves = prng_below(&f.prng, 2) == 0;
            f.draw.groups = 1;
            for (int i = (int)prng_below(&f.prng, 8); i > 0; i--) {
                struct record r = draw_streams_record(&f.draw);
                apply_to(&f, overlay, r);
                live_apply(&on_overlay, r);
                check_overlay(overlay, group_id, &on_overlay);
                check_set(f.set, &f.live);
                if (base_moves) {
                    apply(&f, draw_streams_record(&f.draw));
                    check_overlay(overlay, group_id, &on_overlay);
                    check_set(f.set, &f.live);
                }
            }
            f.draw.groups = GROUPS;
            group_overlay_free(overlay);
            assert_true(base_moves || live_hash(&base) == group_set_hash(f.set));
            check_set(f.set, &f.live);
        }
        end(&f);
    }
}

static void many_members_cost_an_overlay_little(void **unused)
{
    (void)unused;
    enum { MANY = 3000 };
    struct fixture f;
    begin(&f, 1);
    for (int i = 0; i < MANY; i++) {
        struct streams_group_member_metadata_key key = {.group_id = STR("g-0"), .member_id = arena_printf(&f.records, "m-%d", i)};
        struct streams_group_member_metadata_value value;
        wire_init(&wire_streams_group_member_metadata_value, &value);
        value.process_id = STR("p");
        apply_to(&f, f.set, wire_record_encode(RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, 0, &value, &f.records));
    }
    size_t bytes = f.pool.bytes, objects = f.pool.objects;
    struct group_set *overlay = group_overlay_new(f.set, STR("g-0"));
    assert_true(f.pool.bytes - bytes < 2000); /* nothing that grows with the members */
    assert_ptr_equal(group_find(overlay, STR("g-0"))->streams, group_find(f.set, STR("g-0"))->streams);
    struct streams_group_member_metadata_key key = {.group_id = STR("g-0"), .member_id = STR("m-7")};
    apply_to(&f, overlay, wire_record_encode(RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, 0, NULL, &f.records));
    assert_true(f.pool.objects - objects < 20); /* no object for each of them */
    assert_int_equal(group_find(overlay, STR("g-0"))->streams->member_count, MANY - 1);
    assert_int_equal(group_find(f.set, STR("g-0"))->streams->member_count, MANY);
    group_overlay_free(overlay);
    assert_int_equal(f.pool.bytes, bytes);
    assert_int_equal(f.pool.objects, objects);
    end(&f);
}

int run_streams_store_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_is_what_the_records_say),
        cmocka_unit_test(snapshots_are_the_state_at_their_beginning),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(tombstones_leave_nothing),
        cmocka_unit_test(overlays_and_their_base_keep_apart),
        cmocka_unit_test(many_members_cost_an_overlay_little),
    };
    return cmocka_run_group_tests_name("streams store", tests, NULL, NULL);
}
