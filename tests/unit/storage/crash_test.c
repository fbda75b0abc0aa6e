/* crash_test.c: whatever is written, killed, cut off or filled up, in any order: what was acknowledged is found again, and nothing else.
 *
 * The model runs random work on a store and the same on a twin. It is run once more on a disk whose sync lies, to prove that it would notice. */
#include "fixture.h"

#include <inttypes.h>

/* ---- a fixed story, the power cut at every one of its changes ---------------------------------------------------------------- */

struct story {
    struct box box;
    struct twin *acked;
    struct twin *maybe; /* acked and the batch in flight when the power went */
    bool cut;
};

static void story_init(struct story *s)
{
    box_init(&s->box, 4096, 4096);
    s->acked = twin_new();
    s->maybe = twin_new();
    s->cut = false;
}

static void story_fini(struct story *s)
{
    box_fini(&s->box);
    free(s->acked);
    free(s->maybe);
}

static void story_write(struct story *s, const struct store_record *records, size_t count)
{
    if (s->cut) {
        return;
    }
    twin_copy(s->maybe, s->acked);
    for (size_t i = 0; i < count; i++) {
        twin_apply(s->maybe, &records[i]);
    }
    int rc = store_write(s->box.store, records, count);
    assert_true(rc == 0 || rc == MUSTER_E_IO);
    if (rc == 0) {
        twin_copy(s->acked, s->maybe);
    }
    s->cut = rc < 0;
}

static void story_snapshot(struct story *s, uint32_t shard, uint64_t index, uint64_t term, uint64_t trim)
{
    struct store_snapshot_writer *w = NULL;
    struct store_snapshot_meta meta = {.shard = shard, .index = index, .term = term};
    int rc = s->cut ? MUSTER_E_IO : store_snapshot_create(&s->box.port, &meta, &w);
    if (rc == 0) {
        rc = store_snapshot_add(w, (struct bytes){(const uint8_t *)"state", 5});
        int committed = store_snapshot_commit(w);
        rc = rc < 0 ? rc : committed;
    }
    s->cut = s->cut || rc < 0;
    struct store_record r = rec_snapshot(shard, index, term, trim);
    story_write(s, &r, 1);
    if (!s->cut) {
        s->cut = store_trim(s->box.store, shard, trim) < 0;
    }
}

static void story_run(struct story *s)
{
    s->cut = box_open(&s->box) < 0;
    struct store_record start[] = {rec_term(0, 1, 1), rec_term(1, 1, 2), rec_entry(0, 1, 1, "conf"), rec_entry(1, 1, 1, "conf")};
    story_write(s, start, COUNT_OF(start));
    for (uint64_t i = 2; i <= 70; i++) {
        struct store_record batch[] = {rec_entry(0, i, 1 + i / 30, "some payload for shard 0"),
                                       rec_entry(1, i, 1, "some payload for shard 1")};
        story_write(s, batch, COUNT_OF(batch));
    }
    story_snapshot(s, 0, 65, 3, 60);
    story_snapshot(s, 1, 66, 1, 66);
    struct store_record after[] = {rec_entry(1, 67, 4, "erases"), rec_term(1, 4, 3), rec_entry(1, 68, 4, "on"),
                                   rec_entry(0, 70, 5, "last")};
    story_write(s, after, COUNT_OF(after));
    for (uint64_t i = 69; i <= 90; i++) {
        struct store_record r = rec_entry(1, i, 4, "into the next segment, and on");
        story_write(s, &r, 1);
    }
}

/* After the crash: the state before or after the batch in flight; then life goes on and a second crash takes nothing more. */
static void story_check(struct story *s, uint64_t cut_at, uint64_t seed)
{
    struct box *b = &s->box;
    int rc = box_open(b);
    if (rc < 0) {
        fail_msg("cut at change %" PRIu64 ", seed %" PRIu64 ": open says %s: %s", cut_at, seed, muster_strerror(rc), b->report.text);
    }
    const char *before = twin_difference(b->found, s->acked);
    if (before != NULL && twin_difference(b->found, s->maybe) != NULL) {
        fail_msg("cut at change %" PRIu64 ", seed %" PRIu64 ": acknowledged data is lost or wrong: %s", cut_at, seed, before);
    }
    twin_copy(s->acked, b->found);
    struct store_record more[] = {rec_term(2, 9, 1), rec_entry(2, 1, 9, "after the crash")};
    s->cut = false;
    story_write(s, more, COUNT_OF(more));
    box_crash(b, seed + 1);
    assert_int_equal(box_open(b), 0);
    assert_null(twin_difference(b->found, s->acked));
}

static void a_power_cut_at_every_change(void **state)
{
    (void)state;
    bool done = false;
    unsigned torn = 0;
    for (uint64_t cut_at = 1; !done; cut_at++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct story s;
            story_init(&s);
            mem_disk_faults(s.box.disk)->cut_power = cut_at;
            story_run(&s);
            done = !s.cut;
            box_crash(&s.box, seed * 1000 + cut_at);
            story_check(&s, cut_at, seed);
            torn += s.box.report.torn_tail ? 1 : 0;
            story_fini(&s);
        }
    }
    assert_int_equal(torn, 0); /* of the second opening: the first has cleaned up */
}

/* ---- random work -------------------------------------------------------------------------------------------------------------- */

struct model {
    struct box box;
    struct prng random;
    struct twin *acked;
    struct twin *maybe;
    bool unsure;                             /* the last batch may or may not be there */
    const char *lost;                        /* what was found wrong; NULL: nothing */
    unsigned torn, full, cuts, cuts_in_open; /* totals, so that a run that tests nothing is noticed */
    char text[400];
};

static uint64_t below(struct model *m, uint64_t bound)
{
    return prng_below(&m->random, bound);
}

/* A record that may follow what the twin has; false when none of the drawn kind can. */
static bool draw_record(struct model *m, const struct twin *t, uint8_t payload[400], struct store_record *ret)
{
    uint32_t shard = (uint32_t)below(m, TWIN_SHARDS);
    const struct twin_shard *s = &t->shards[shard];
    uint64_t last_term = s->last > s->trim ? s->entries[s->last].term : s->snapshot_term;
    uint64_t covered = s->snapshot_index > s->trim ? s->snapshot_index : s->trim;
    uint64_t kind = below(m, 20);
    if (kind == 0) {
        *ret = rec_term(shard, s->term + 1 + below(m, 3), below(m, 4));
        return true;
    }
    if (s->last + 2 >= TWIN_ENTRIES) {
        return false;
    }
    bool erase = kind == 1 && s->last > covered;
    uint64_t index = erase ? covered + 1 + below(m, s->last - covered) : s->last + 1;
    uint64_t term = (last_term > 0 ? last_term : 1) + (erase || kind == 2 ? 1 : 0);
    size_t len = (size_t)below(m, kind == 3 ? 400 : 40);
    for (size_t i = 0; i < len; i++) {
        payload[i] = (uint8_t)below(m, 4); /* many zeros, as in real life */
    }
    *ret = (struct store_record){
        .kind = STORE_ENTRY, .entry_type = 1, .shard = shard, .term = term, .index = index, .payload = {payload, (int32_t)len}};
    return true;
}

static int model_put(struct model *m, const struct store_record *records, size_t count)
{
    int rc = store_write(m->box.store, records, count);
    m->full += rc == MUSTER_E_FULL ? 1 : 0;
    if (rc == 0) {
        twin_copy(m->acked, m->maybe);
    }
    m->unsure = rc == MUSTER_E_IO;
    return rc;
}

static int do_write(struct model *m)
{
    static uint8_t payloads[6][400];
    struct store_record records[6];
    size_t want = 1 + (size_t)below(m, 6);
    size_t count = 0;
    twin_copy(m->maybe, m->acked);
    for (size_t i = 0; i < want; i++) {
        if (draw_record(m, m->maybe, payloads[count], &records[count])) {
            twin_apply(m->maybe, &records[count++]);
        }
    }
    return model_put(m, records, count);
}

static int do_snapshot(struct model *m)
{
    uint32_t shard = (uint32_t)below(m, TWIN_SHARDS);
    const struct twin_shard *s = &m->acked->shards[shard];
    uint64_t covered = s->snapshot_index > s->trim ? s->snapshot_index : s->trim;
    bool install = below(m, 4) == 0;
    if (s->last + 40 >= TWIN_ENTRIES || (!install && s->last <= covered)) {
        return 0;
    }
    uint64_t index = install ? s->last + 1 + below(m, 30) : covered + 1 + below(m, s->last - covered);
    uint64_t term = install ? s->snapshot_term + 50 : s->entries[index].term;
    uint64_t trim = install ? index : s->trim + below(m, index - s->trim + 1);
    struct store_snapshot_writer *w = NULL;
    struct store_snapshot_meta meta = {.shard = shard, .index = index, .term = term};
    int rc = store_snapshot_create(&m->box.port, &meta, &w);
    rc = rc < 0 ? rc : store_snapshot_commit(w);
    if (rc < 0) {
        return rc;
    }
    struct store_record r = rec_snapshot(shard, index, term, trim);
    twin_copy(m->maybe, m->acked);
    twin_apply(m->maybe, &r);
    rc = model_put(m, &r, 1);
    return rc < 0 ? rc : store_trim(m->box.store, shard, trim);
}

static void model_open(struct model *m)
{
    int rc = box_open(&m->box);
    m->torn += m->box.report.torn_tail ? 1 : 0;
    while (rc == MUSTER_E_IO || rc == MUSTER_E_FULL) { /* the power went again, or the disk was full: nothing may be lost by that either */
        memset(mem_disk_faults(m->box.disk), 0, offsetof(struct mem_faults, sync_lies));
        box_crash(&m->box, prng_next(&m->random));
        rc = box_open(&m->box);
        m->cuts_in_open++;
    }
    if (rc < 0) {
        (void)snprintf(m->text, sizeof(m->text), "open says %s: %.300s", muster_strerror(rc), m->box.report.text);
        m->lost = m->text;
        return;
    }
    const char *difference = twin_difference(m->box.found, m->acked);
    if (difference != NULL && (!m->unsure || twin_difference(m->box.found, m->maybe) != NULL)) {
        (void)snprintf(m->text, sizeof(m->text), "acknowledged data is lost or wrong: %s", difference);
        m->lost = m->text;
        return;
    }
    twin_copy(m->acked, m->box.found);
    m->unsure = false;
}

static void model_crash(struct model *m)
{
    box_crash(&m->box, prng_next(&m->random));
    model_open(m);
}

static void model_step(struct model *m)
{
    struct mem_faults *faults = mem_disk_faults(m->box.disk);
    int rc = 0;
    switch (below(m, 40)) {
    case 0:
        box_close(&m->box);
        model_open(m);
        return;
    case 1:
        box_kill(&m->box);
        model_open(m);
        return;
    case 2:
        model_crash(m);
        return;
    case 3:
        faults->cut_power = 1 + below(m, 20);
        return;
    case 4:
        faults->full_write = 1 + below(m, 5);
        return;
    case 5:
        faults->capacity_bytes = faults->capacity_bytes == 0 ? 4096 * (3 + below(m, 10)) : 0;
        return;
    case 6:
    case 7:
        rc = do_snapshot(m);
        break;
    default:
        rc = do_write(m);
        break;
    }
    if (rc == MUSTER_E_IO) {
        m->cuts++;
        faults->full_write = 0;
        model_crash(m);
    } else if (rc < 0 && rc != MUSTER_E_FULL) {
        (void)snprintf(m->text, sizeof(m->text), "a good record is refused: %s", muster_strerror(rc));
        m->lost = m->text;
    }
}

static void model_run(struct model *m, uint64_t seed, bool sync_lies)
{
    memset(m, 0, sizeof(*m));
    box_init(&m->box, 4096, 4096);
    m->acked = twin_new();
    m->maybe = twin_new();
    prng_seed(&m->random, seed);
    mem_disk_faults(m->box.disk)->sync_lies = sync_lies;
    model_open(m);
    for (int step = 0; step < 300 && m->lost == NULL; step++) {
        model_step(m);
    }
    if (m->lost == NULL) {
        mem_disk_faults(m->box.disk)->full_write = 0;
        model_crash(m);
    }
}

static void model_fini(struct model *m)
{
    box_fini(&m->box);
    free(m->acked);
    free(m->maybe);
}

static void random_work_loses_nothing(void **state)
{
    (void)state;
    unsigned torn = 0;
    unsigned full = 0;
    unsigned cuts = 0;
    unsigned cuts_in_open = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct model m;
        model_run(&m, seed, false);
        if (m.lost != NULL) {
            fail_msg("seed %" PRIu64 ": %s", seed, m.lost);
        }
        torn += m.torn;
        full += m.full;
        cuts += m.cuts;
        cuts_in_open += m.cuts_in_open;
        model_fini(&m);
    }
    print_message("torn tails %u, full %u, power cuts %u, in recovery %u\n", torn, full, cuts, cuts_in_open);
    assert_true(torn > 100 && full > 100 && cuts > 500 && cuts_in_open > 20);
}

static void a_sync_that_lies_is_noticed(void **state)
{
    (void)state;
    unsigned noticed = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct model m;
        model_run(&m, seed, true);
        noticed += m.lost != NULL ? 1 : 0;
        model_fini(&m);
    }
    assert_true(noticed >= 45);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_cut_at_every_change),
        cmocka_unit_test(random_work_loses_nothing),
        cmocka_unit_test(a_sync_that_lies_is_noticed),
    };
    return cmocka_run_group_tests_name("storage crash", tests, NULL, NULL);
}
