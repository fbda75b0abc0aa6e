#include "fixture.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

static const char *step(struct fixture *f, enum member_step_kind kind, int64_t change)
{
    static struct catalog_member founders[3];
    static struct member_step s;
    for (int32_t i = 0; i < 3; i++) {
        founders[i] = (struct catalog_member){.node_id = i + 1, .incarnation = {{(uint8_t)(i + 1)}}, .peer_address = STR("")};
        founders[i].peer_address = arena_printf(&f->arena, "h%d:9093", i + 1);
    }
    s = (struct member_step){.kind = kind, .change_id = change, .founders = founders, .founder_count = 3, .reason = STR("late")};
    s.incomplete = !f->founders_awaited;
    return ask(f, CATALOG_MEMBER_STEP, 0, &s);
}

static const char *change(struct fixture *f, enum member_change_kind kind, int32_t node, const char *address, bool force)
{
    static struct change_member_request q;
    q = (struct change_member_request){.kind = (int8_t)kind, .node_id = node, .peer_address = str_of(address), .force = force};
    return ask(f, CATALOG_CHANGE_MEMBER, 0, &q);
}

static void reach(struct fixture *f, int32_t from, int32_t to)
{
    f->reachable_count = 0;
    for (int32_t node = from; node <= to; node++) {
        f->reachable[f->reachable_count++] = node;
    }
}

static enum member_standing standing(struct fixture *f, int32_t node)
{
    struct catalog_member m;
    assert_true(catalog_next_member(f->world.set, node - 1, &m) && m.node_id == node);
    return m.standing;
}

/* One change after the other, and what they leave. */
void test_members(void **state)
{
    struct fixture *f = *state;
    struct catalog_member m;
    struct catalog_change c;
    assert_false(catalog_next_member(f->world.set, -1, &m));
    assert_false(catalog_member_change(f->world.set, &c));
    reach(f, 1, 3);
    assert_string_equal(change(f, MEMBER_ADD, 4, "h4:9093", false), "change 15 The members of the cluster are about to be recorded. -1");
    step(f, MEMBER_STEP_FOUND, -1);
    assert_string_equal(change(f, MEMBER_ADD, 4, "h4:9093", false), "change 0 1");
    assert_int_equal(standing(f, 4), MEMBER_JOINING);
    assert_true(catalog_member_change(f->world.set, &c) && c.id == 1 && c.kind == MEMBER_ADD && c.node_id == 4 &&
                c.state == MEMBER_CHANGE_UNDER_WAY && c.target == MEMBER_VOTER);
    step(f, MEMBER_STEP_DONE, 1); /* it has not joined */
    assert_string_equal(f->rule, "member step: of another change or state");
    step(f, MEMBER_STEP_JOINED, 1);
    assert_int_equal(standing(f, 4), MEMBER_VOTER);
    step(f, MEMBER_STEP_GIVE_UP, 1); /* too late */
    assert_int_equal(standing(f, 4), MEMBER_VOTER);
    step(f, MEMBER_STEP_DONE, 1);
    assert_true(catalog_member_change(f->world.set, &c) && c.state == MEMBER_CHANGE_DONE);
    reach(f, 1, 4);
    change(f, MEMBER_ADD, 5, "h5:9093", false);
    step(f, MEMBER_STEP_GIVE_UP, 2);
    assert_true(catalog_member_change(f->world.set, &c) && c.state == MEMBER_CHANGE_GIVEN_UP && str_eq(c.reason, STR("late")));
    assert_false(catalog_next_member(f->world.set, 4, &m));
    change(f, MEMBER_ADD, 5, "h5:9093", false);
    step(f, MEMBER_STEP_JOINED, 3);
    change(f, MEMBER_REMOVE, 5, NULL, true);
    assert_string_equal(f->rule, "change member: begun in place of the one under way");
    change(f, MEMBER_REMOVE, 5, NULL, true); /* itself is not given up */
    assert_string_equal(f->rule, "change member: refused");
    step(f, MEMBER_STEP_DONE, 4);
    assert_false(catalog_next_member(f->world.set, 4, &m));
}

/* Majorities of one to seven voters: what may be added and removed with so many that answer. */
void test_member_quorums(void **state)
{
    struct fixture *f = *state;
    reach(f, 1, 3);
    step(f, MEMBER_STEP_FOUND, -1);
    int64_t id = 1;
    for (int32_t voters = 3; voters < 7; voters++, id++) {
        char address[32];
        snprintf(address, sizeof address, "h%d:9093", voters + 1);
        for (int32_t up = voters; up >= voters / 2 + 1; up--) {
            reach(f, 1, up);
            bool may = up >= (voters + 1) / 2 + 1;
            if (!may) {
                change(f, MEMBER_ADD, voters + 1, address, false);
                assert_string_equal(f->rule, "change member: refused");
            }
            /* The last one goes, dead or not: the others must be a majority of what is left. */
            bool may_go = (up > voters - 1 ? voters - 1 : up) >= (voters - 1) / 2 + 1;
            if (!may_go) {
                change(f, MEMBER_REMOVE, voters, NULL, false);
                assert_string_equal(f->rule, "change member: refused");
            }
        }
        reach(f, 1, (voters + 1) / 2 + 1);
        change(f, MEMBER_ADD, voters + 1, address, false);
        assert_string_equal(f->rule, "change member: begun");
        step(f, MEMBER_STEP_JOINED, id);
        step(f, MEMBER_STEP_DONE, id);
    }
}

void test_member_limits(void **state)
{
    struct fixture *f = *state;
    step(f, MEMBER_STEP_FOUND, -1);
    for (int32_t node = 4; node <= CATALOG_MAX_MEMBERS + 1; node++) {
        char address[32];
        snprintf(address, sizeof address, "h%d:9093", node);
        reach(f, 1, node - 1);
        const char *answer = change(f, MEMBER_ADD, node, address, false);
        if (node > CATALOG_MAX_MEMBERS) {
            assert_string_equal(answer, "change 44 A cluster has at most 32 nodes. -1");
            break;
        }
        step(f, MEMBER_STEP_JOINED, node - 3);
        step(f, MEMBER_STEP_DONE, node - 3);
    }
    new_topic topic = {.name = STR("wide"), .num_partitions = 1, .replication_factor = 32};
    assert_string_equal(create(f, &topic, 1), "wide 0 1/32"); /* as many copies as members, whatever the settings were formed with */
}

void test_registering_members(void **state)
{
    struct fixture *f = *state;
    struct register_node_request q = {.node_id = 9, .incarnation = {{9}}, .host = STR("h"), .port = 1, .peer_address = STR("h9:1")};
    step(f, MEMBER_STEP_FOUND, -1);
    assert_string_equal(ask(f, CATALOG_REGISTER_NODE, 0, &q), "node 42 Node 9 is not a member of the cluster.");
    q.node_id = 2;
    ask(f, CATALOG_REGISTER_NODE, 0, &q);
    assert_string_equal(f->rule, "register node: number belongs to another incarnation");
    q.incarnation = (struct uuid){{2}};
    assert_string_equal(ask(f, CATALOG_REGISTER_NODE, 0, &q), "node 0");
    struct catalog_member m;
    assert_true(catalog_next_member(f->world.set, 1, &m) && str_eq(m.peer_address, STR("h9:1")) && m.standing == MEMBER_VOTER);
}

/* ---- the feature level ------------------------------------------------------------------------------------------------------------ */

static void register_one(struct fixture *f, int32_t node, int16_t level)
{
    static struct register_node_request q;
    q = (struct register_node_request){.node_id = node, .incarnation = {{(uint8_t)node}}, .host = STR("h"), .port = 9092};
    q.peer_address = arena_printf(&f->arena, "h%d:9093", node);
    q.feature_level = level;
    ask(f, CATALOG_REGISTER_NODE, 0, &q);
}

static void register_all(struct fixture *f, int16_t level)
{
    for (int32_t node = 1; node <= 3; node++) {
        register_one(f, node, level);
    }
}

/* A cluster begins at the highest level that all its founders know, once all of them have said which. */
void test_founding_level(void **state)
{
    struct fixture *f = *state;
    struct catalog_member m;
    f->founders_awaited = true;
    register_one(f, 1, group_feature_level);
    register_one(f, 3, group_feature_level);
    step(f, MEMBER_STEP_FOUND, -1);
    assert_string_equal(f->rule, "members: not all that the cluster was formed with have registered");
    assert_false(catalog_next_member(f->world.set, -1, &m));
    register_one(f, 2, group_feature_level);
    step(f, MEMBER_STEP_FOUND, -1);
    assert_string_equal(f->rule, "members: those that the cluster was formed with");
    assert_int_equal(catalog_feature_level(f->world.set), group_feature_level);
    step(f, MEMBER_STEP_FOUND, -1); /* of another leader, a moment later */
    assert_string_equal(f->rule, "member step: of another change or state");
}

void test_founding_level_of_the_lowest(void **state)
{
    struct fixture *f = *state;
    f->founders_awaited = true;
    register_all(f, group_feature_level);
    register_one(f, 3, 1);
    step(f, MEMBER_STEP_FOUND, -1);
    assert_int_equal(standing(f, 3), MEMBER_VOTER);
    assert_int_equal(catalog_feature_level(f->world.set), 1);
}

/* Who does not come is waited for no longer: what it knows is not known. */
void test_founding_without_one(void **state)
{
    struct fixture *f = *state;
    register_one(f, 1, group_feature_level);
    register_one(f, 2, group_feature_level);
    step(f, MEMBER_STEP_FOUND, -1);
    assert_int_equal(standing(f, 3), MEMBER_VOTER);
    assert_int_equal(catalog_feature_level(f->world.set), 1);
}

void test_upgrade(void **state)
{
    struct fixture *f = *state;
    struct upgrade_cluster_request q = {.level = -1};
    struct group_out out;
    ask(f, CATALOG_UPGRADE, 0, &q);
    assert_string_equal(f->rule, "upgrade: refused");
    step(f, MEMBER_STEP_FOUND, -1);
    register_all(f, 1);
    ask(f, CATALOG_UPGRADE, 0, &q);
    assert_string_equal(f->rule, "upgrade: level kept");
    register_all(f, (int16_t)(group_feature_level + 1));
    /* Decided only: this program could not apply it. */
    struct group_op op = {.kind = CATALOG_UPGRADE, .request = &q, .release = STR("9.1"), .settings = &f->world.settings};
    group_decide(f->world.set, &op, &f->arena, &out);
    note_rule(out.rule);
    assert_string_equal(out.rule, "upgrade: level raised");
    assert_int_equal(out.records.len, 1);
    assert_false(group_apply(f->world.set, 99, out.records.v[0], &f->arena));
    assert_int_equal(catalog_feature_level(f->world.set), 1);
    q.validate_only = true;
    group_decide(f->world.set, &op, &f->arena, &out);
    assert_true(out.records.len == 0 && ((const struct upgrade_cluster_response *)out.answer)->level == group_feature_level + 1);
}

static struct bytes entry_of(struct fixture *f, struct record first, struct record second)
{
    struct log_entry_entry_record records[2] = {{0, first.key, first.value}, {0, second.key, second.value}};
    struct log_entry_cause cause = {.client_id = STR_NULL, .host = STR_NULL, .group_id = STR_NULL, .reason = STR_NULL, .rule = STR("r")};
    struct log_entry entry = {.causes = {&cause, 1}, .records = {records, 2}};
    return wire_encode(&wire_log_entry, 0, &entry, &f->arena);
}

static bool apply(struct fixture *f, struct bytes entry)
{
    const char *why = "";
    struct arena scratch;
    arena_init(&scratch, 0);
    bool applied = group_apply_entry(f->world.set, 50, entry, &scratch, NULL, NULL, &why);
    arena_fini(&scratch);
    return applied;
}

static struct record with_version(struct fixture *f, struct record r, int at, uint16_t number)
{
    struct bytes *part = at == 0 ? &r.key : &r.value;
    *part = arena_bytes(&f->arena, *part);
    put_be16((uint8_t *)(uintptr_t)part->ptr, number);
    return r;
}

/* What this program does not know stops it before anything of the entry is applied, and it says what is needed. */
void test_newer_records(void **state)
{
    struct fixture *f = *state;
    struct producer_id_block_key key = {.shard = 0};
    struct producer_id_block_value value = {.next_producer_id = 77};
    struct feature_level_key level_key = {STR("feature.level")};
    struct feature_level_value level = {.level = 1, .release = STR("9.1")};
    struct record known = wire_record_encode(RECORD_PRODUCER_ID_BLOCK, &key, 0, &value, &f->arena);
    uint64_t hash = group_set_hash(f->world.set);
    struct bytes entry = entry_of(f, known, with_version(f, known, 0, 0x7ffe));
    assert_false(apply(f, entry));
    assert_int_equal(group_set_hash(f->world.set), hash);
    assert_true(str_eq(group_entry_problem(entry, &f->arena),
                       STR("the log holds a record of type 0x7ffe, which this program (feature level 3) does not know: a newer version of "
                           "musterd is needed; nothing of the entry was applied here")));
    entry = entry_of(f, known, with_version(f, known, 1, 3));
    assert_false(apply(f, entry));
    assert_int_equal(group_set_hash(f->world.set), hash);
    assert_true(
        str_eq(group_entry_problem(entry, &f->arena),
               STR("the log holds a ProducerIdBlock record of version 3, of which this program (feature level 3) knows versions up to "
                   "0: a newer version of musterd is needed; nothing of the entry was applied here")));
    level.level = (int16_t)(group_feature_level + 1);
    entry = entry_of(f, known, wire_record_encode(RECORD_FEATURE_LEVEL, &level_key, 0, &level, &f->arena));
    assert_false(apply(f, entry));
    assert_int_equal(group_set_hash(f->world.set), hash);
    assert_true(
        str_eq(group_entry_problem(entry, &f->arena),
               STR("the cluster was raised to feature level 4 and this program knows levels up to 3: 9.1 of musterd is needed, or a "
                   "later one; nothing of that level was applied here")));
    level.level = group_feature_level;
    entry = entry_of(f, known, wire_record_encode(RECORD_FEATURE_LEVEL, &level_key, 0, &level, &f->arena));
    assert_true(str_is_null(group_entry_problem(entry, &f->arena)));
    assert_true(apply(f, entry));
    assert_true(group_set_hash(f->world.set) != hash);
    assert_int_equal(catalog_feature_level(f->world.set), group_feature_level);
    /* Neither an entry that cannot be read nor a record too short are a newer program's. */
    assert_true(str_is_null(group_entry_problem((struct bytes){(const uint8_t *)"x", 1}, &f->arena)));
    struct record empty = {.key = {(const uint8_t *)"", 0}, .value = BYTES_NULL};
    entry = entry_of(f, empty, empty);
    assert_true(str_is_null(group_entry_problem(entry, &f->arena)));
    assert_false(apply(f, entry));
}

static void put_bytes(struct buf *out, struct bytes b)
{
    uint8_t len[4];
    put_be32(len, (uint32_t)b.len);
    assert_int_equal(buf_put(out, len, sizeof len), 0);
    assert_int_equal(buf_put(out, b.ptr, (size_t)b.len), 0);
}

void test_newer_snapshot(void **state)
{
    struct fixture *f = *state;
    struct pool pool = {0};
    struct buf run;
    struct feature_level_key key = {STR("feature.level")};
    struct feature_level_value value = {.level = 9, .release = STR_NULL};
    struct record record = wire_record_encode(RECORD_FEATURE_LEVEL, &key, 0, &value, &f->arena);
    buf_init(&run, 0);
    put_bytes(&run, record.key);
    put_bytes(&run, record.value);
    struct group_set *set = group_set_new(&pool, 0);
    struct bytes all = {run.ptr, (int32_t)run.len};
    assert_int_equal(group_restore(set, all, &f->arena), MUSTER_E_MALFORMED);
    assert_true(str_eq(group_run_problem(all, &f->arena),
                       STR("the cluster was raised to feature level 9 and this program knows levels up to 3: a newer version of musterd is "
                           "needed, or a later one; nothing of that level was applied here")));
    all.len--;
    assert_true(str_is_null(group_run_problem(all, &f->arena)));
    group_set_free(set);
    buf_fini(&run);
}
