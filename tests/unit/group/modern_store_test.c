/* modern_store_test.c: the state of consumer groups and streams groups is what its records say, whatever their order, through snapshots and on overlays. Beside each set stands a
 * plain list of what is live: key, value, nothing else. */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "consumer_records.h"
#include "modern/modern.h"
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

static const struct modern_kind *const both_kinds[] = {&consumer_kind, &streams_kind};
enum mix { CONSUMER_ALONE, STREAMS_ALONE, BOTH, MIXES };

struct fixture {
    enum mix mix;
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
    f->mix = (enum mix)(seed % MIXES);
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

/* Of one kind, or of both: a group has records of both when they come in an odd order (KAFKA-20254). */
static struct record draw_modern(struct fixture *f)
{
    bool consumer = f->mix == CONSUMER_ALONE || (f->mix == BOTH && prng_below(&f->prng, 2) == 0);
    return consumer ? draw_consumer_record(&f->draw) : draw_streams_record(&f->draw);
}

static struct record draw_record(struct fixture *f)
{
    return prng_below(&f->prng, 10) == 0 ? draw_other(f) : draw_modern(f);
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

static bool names_topic(const struct modern_slot *slot, struct str topic)
{
    bool named = false;
    for (int32_t i = 0; slot->member != NULL && i < slot->member->topics.len; i++) {
        named = named || str_eq(slot->member->topics.v[i], topic);
    }
    return named;
}

/* How many members name a topic, and that no topic is counted that nobody names. */
static void check_uses(const struct modern *s)
{
    int32_t topics = 0;
    for (int32_t t = 0; t < 6; t++) { /* as many as are drawn */
        char name[8];
        int len = snprintf(name, sizeof name, "t-%d", (int)t);
        struct str topic = {name, len};
        int32_t members = 0;
        for (int32_t i = 0; i < s->slot_count; i++) {
            members += names_topic(&s->slots[i], topic) ? 1 : 0;
        }
        assert_int_equal(uses_count(s->uses, topic), members);
        topics += members > 0 ? 1 : 0;
    }
    assert_int_equal(s->uses == NULL ? 0 : s->uses->count, topics);
}

static int32_t holders_of(const struct modern *s, const struct unit *u)
{
    int32_t count = 0;
    for (int32_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].member != NULL) {
            struct member_position p = modern_position(&s->slots[i]);
            count += units_find(p.assigned.kind[UNITS_ACTIVE], u->name, u->partition) != NULL ? 1 : 0;
            count += units_find(p.revoking.kind[UNITS_ACTIVE], u->name, u->partition) != NULL ? 1 : 0;
        }
    }
    return count;
}

static void check_owned(const struct modern *s, struct units units)
{
    for (int32_t i = 0; i < units.len; i++) {
        assert_int_equal(owners_count(s->owners, &units.v[i]), holders_of(s, &units.v[i]));
    }
}

/* Nobody has more than what the table says, and the table has nothing else. */
static void check_owners(const struct modern *s)
{
    int64_t all = 0, counted = 0;
    for (int32_t i = 0; s->indexed && i < s->slot_count; i++) {
        struct member_position p = modern_position(&s->slots[i]);
        check_owned(s, p.assigned.kind[UNITS_ACTIVE]);
        check_owned(s, p.revoking.kind[UNITS_ACTIVE]);
        all += s->slots[i].member != NULL ? p.assigned.kind[UNITS_ACTIVE].len + p.revoking.kind[UNITS_ACTIVE].len : 0;
    }
    for (uint32_t i = 0; s->owners != NULL && i < s->owners->size; i++) {
        counted += s->owners->v[i].members;
    }
    assert_int_equal(counted, all);
}

static void check_slots(const struct modern *s)
{
    check_uses(s);
    check_owners(s);
    int32_t members = 0, classic = 0, instances = 0;
    for (int32_t i = 0; i < s->slot_count; i++) {
        const struct modern_slot *slot = &s->slots[i];
        assert_true(i == 0 || str_cmp(s->slots[i - 1].member_id, slot->member_id) < 0);
        assert_true(slot->member != NULL || slot->target.held != NULL || slot->current != NULL || slot->offsets != NULL);
        assert_ptr_equal(modern_find(s, slot->member_id), slot->member == NULL ? NULL : slot);
        members += slot->member != NULL ? 1 : 0;
        classic += slot->member != NULL && slot->member->is_classic ? 1 : 0;
        if (slot->member == NULL || str_is_null(slot->member->instance_id)) {
            continue;
        }
        instances++;
        const struct modern_slot *by_instance = modern_by_instance(s, slot->member->instance_id);
        assert_non_null(by_instance);
        assert_true(str_eq(by_instance->member->instance_id, slot->member->instance_id));
    }
    assert_int_equal(s->member_count, members);
    assert_int_equal(s->classic_count, classic);
    assert_int_equal(s->instance_count, instances);
}

/* The records of a group, asked for one after the other, ascend and are those of the list. */
static size_t check_walk(const struct group *g, const struct modern_kind *kind, const struct live *live)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct record r;
    struct bytes last = BYTES_NULL, key;
    size_t count = 0;
    while (modern_key_after(kind, g, last, &arena, &key)) {
        assert_ptr_equal(modern_kind_of((int16_t)get_be16(key.ptr)), kind);
        assert_true(last.len < 0 || modern_key_cmp(kind, last, key) < 0);
        assert_true(modern_key_cmp(kind, key, key) == 0);
        assert_true(modern_record(kind, g, key, &arena, &r) && bytes_eq(r.key, key));
        size_t i = live_find(live, key);
        assert_true(i < live->len && bytes_eq(live->v[i].value, r.value));
        last = key;
        count++;
    }
    arena_fini(&arena);
    return count;
}

static bool is_modern(struct record r)
{
    return modern_kind_of((int16_t)get_be16(r.key.ptr)) != NULL;
}

static void check_set(const struct group_set *set, const struct live *live)
{
    size_t records = 0, expected = 0;
    int64_t members = 0, groups = 0;
    for (struct str id = group_set_next(set, STR_NULL); !str_is_null(id); id = group_set_next(set, id)) {
        struct group *g = group_find(set, id);
        groups++;
        for (size_t k = 0; k < COUNT_OF(both_kinds); k++) {
            const struct modern *s = *modern_at(g, both_kinds[k]);
            if (s != NULL) {
                assert_false(modern_is_gone(s));
                check_slots(s);
                members += s->member_count;
                records += check_walk(g, both_kinds[k], live);
            }
        }
    }
    for (size_t i = 0; i < live->len; i++) {
        expected += is_modern(live->v[i]) ? 1 : 0;
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
        begin(&other, seed + 1000); /* of another mix, but it draws nothing */
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
        if (is_modern(l->v[i]) && str_eq(id, group_id)) {
            own.v[own.len++] = l->v[i];
        }
    }
    return own;
}

static void check_overlay(const struct group_set *overlay, struct str group_id, const struct live *live)
{
    struct live own = of_group(live, group_id);
    struct group *g = group_find(overlay, group_id);
    size_t records = 0;
    for (size_t k = 0; g != NULL && k < COUNT_OF(both_kinds); k++) {
        records += check_walk(g, both_kinds[k], &own);
        if (*modern_at(g, both_kinds[k]) != NULL) {
            check_slots(*modern_at(g, both_kinds[k]));
        }
    }
    assert_int_equal(records, own.len);
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
                struct record r = draw_modern(&f);
                apply_to(&f, overlay, r);
                live_apply(&on_overlay, r);
                check_overlay(overlay, group_id, &on_overlay);
                check_set(f.set, &f.live);
                if (base_moves) {
                    apply(&f, draw_modern(&f));
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

static struct record member_record(struct fixture *f, const struct modern_kind *kind, int number)
{
    struct consumer_group_member_metadata_key key = {.group_id = STR("g-0"), .member_id = arena_printf(&f->records, "m-%d", number)};
    struct modern_member m = {.client_id = STR("c"),
                              .client_host = STR("/127.0.0.1"),
                              .process_id = STR("p")}; /* each kind takes its own of it */
    return wire_record_encode(kind->member_record, &key, MODERN_VALUE_VERSION, kind->member_value(&m, &f->records), &f->records);
}

static void many_members_cost_an_overlay_little(void **unused)
{
    (void)unused;
    enum { MANY = 3000 };
    for (size_t k = 0; k < COUNT_OF(both_kinds); k++) {
        struct fixture f;
        begin(&f, 1);
        for (int i = 0; i < MANY; i++) {
            apply_to(&f, f.set, member_record(&f, both_kinds[k], i));
        }
        size_t bytes = f.pool.bytes, objects = f.pool.objects;
        struct group_set *overlay = group_overlay_new(f.set, STR("g-0"));
        assert_true(f.pool.bytes - bytes < 2000); /* nothing that grows with the members */
        struct modern **base = modern_at(group_find(f.set, STR("g-0")), both_kinds[k]);
        struct modern **over = modern_at(group_find(overlay, STR("g-0")), both_kinds[k]);
        assert_ptr_equal(*over, *base);
        apply_to(&f, overlay, (struct record){member_record(&f, both_kinds[k], 7).key, BYTES_NULL});
        assert_true(f.pool.objects - objects < 20); /* no object for each of them */
        assert_int_equal((*over)->member_count, MANY - 1);
        assert_int_equal((*base)->member_count, MANY);
        group_overlay_free(overlay);
        assert_int_equal(f.pool.bytes, bytes);
        assert_int_equal(f.pool.objects, objects);
        end(&f);
    }
}

int run_modern_store_tests(void)
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
