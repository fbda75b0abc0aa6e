/* undo_test.c: what a plan leaves to be refused, and what was done and may be undone. */
#include "fake_offsets.h"

enum members { MEMBERS_NONE, MEMBERS_READ, MEMBERS_FOREIGN };

/* The group "behind": nobody, a consumer that reads orders, or a worker of Kafka Connect. */
static const void *describe_members(struct fake *f, int16_t key, enum members members)
{
    if (key == API_KEY_DESCRIBE_GROUPS) {
        struct describe_groups_response *r = ARENA_NEW(&f->arena, struct describe_groups_response, 1);
        wire_init(&wire_describe_groups_response, r);
        r->groups.v = ARENA_NEW(&f->arena, struct describe_groups_response_described_group, 1);
        r->groups.len = 1;
        wire_init_type(wire_describe_groups_response.type->fields[1].type, r->groups.v);
        r->groups.v[0].group_id = STR("behind");
        r->groups.v[0].error_code = members == MEMBERS_READ ? 69 : 0;
        r->groups.v[0].group_state = STR("Stable");
        r->groups.v[0].protocol_type = STR("connect");
        r->groups.v[0].members.v = ARENA_NEW(&f->arena, struct describe_groups_response_described_group_member, 1);
        r->groups.v[0].members.len = members == MEMBERS_FOREIGN;
        wire_init_type(wire_describe_groups_response.type->fields[1].type->fields[6].type, r->groups.v[0].members.v);
        return r;
    }
    static struct str topics[] = {{"orders", 6}};
    struct consumer_group_describe_response *r = ARENA_NEW(&f->arena, struct consumer_group_describe_response, 1);
    wire_init(&wire_consumer_group_describe_response, r);
    r->groups.v = ARENA_NEW(&f->arena, struct consumer_group_describe_response_described_group, 1);
    r->groups.len = 1;
    wire_init_type(wire_consumer_group_describe_response.type->fields[1].type, r->groups.v);
    r->groups.v[0].group_id = STR("behind");
    r->groups.v[0].group_state = STR("Stable");
    r->groups.v[0].members.v = ARENA_NEW(&f->arena, struct consumer_group_describe_response_member, 1);
    r->groups.v[0].members.len = 1;
    r->groups.v[0].members.v[0] = (struct consumer_group_describe_response_member){.member_id = STR("m"),
                                                                                   .instance_id = STR_NULL,
                                                                                   .rack_id = STR_NULL,
                                                                                   .client_id = STR("c"),
                                                                                   .client_host = STR("/h"),
                                                                                   .subscribed_topic_names = {topics, 1},
                                                                                   .subscribed_topic_regex = STR("")};
    return r;
}

/* Nothing may be changed for a plan; with members only a fence would do. */
static const void *plans(struct fake *f, int16_t key, const void *request)
{
    enum members members = *(enum members *)f->more_state;
    const struct alter_group_offsets_request *alter = request;
    assert_true(key != API_KEY_OFFSET_DELETE);
    if (key == API_KEY_ALTER_GROUP_OFFSETS) {
        assert_true(alter->validate_only);
        if (members == MEMBERS_NONE || alter->fence) {
            return fake_alters(f, request);
        }
        struct alter_group_offsets_response *r = ARENA_NEW(&f->arena, struct alter_group_offsets_response, 1);
        wire_init(&wire_alter_group_offsets_response, r);
        r->error_code = 68;
        return r;
    }
    bool describes = key == API_KEY_DESCRIBE_GROUPS || key == API_KEY_CONSUMER_GROUP_DESCRIBE;
    return describes && members != MEMBERS_NONE ? describe_members(f, key, members) : NULL;
}

static void a_deletion_that_would_be_refused_is_planned_so(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE};
    static const char nothing[] = "nothing was changed; --execute does it\n";
    struct fake *f = *state;
    enum members members = MEMBERS_NONE;
    fake_more(f, plans, keys, COUNT_OF(keys));
    f->more_state = &members;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", NULL), CLI_OK, "behind  orders          2", nothing);
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "gone", NULL), CLI_OK, "behind  gone", nothing);
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--force", NULL), CLI_OK, "behind  orders", nothing);
    members = MEMBERS_READ;
    struct run r = run_cli("offsets", "delete", "behind", "--topic", "orders:0,1", NULL);
    assert_null(strstr(r.err, nothing));
    assert_int_equal(count_of(r.err, "GROUP_SUBSCRIBED_TO_TOPIC"), 2);
    assert_int_equal(count_of(r.out, "behind  orders"), 2);
    assert_run(r, CLI_FAILED, NULL, "orders-0: GROUP_SUBSCRIBED_TO_TOPIC");
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "gone", NULL), CLI_FAILED, "behind  gone", "NON_EMPTY_GROUP");
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--force", NULL), CLI_FAILED, "behind  orders", "(--fence)");
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--fence", NULL), CLI_OK, "behind  orders", nothing);
    members = MEMBERS_FOREIGN;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders:0", NULL), CLI_FAILED, "behind  orders",
               "orders-0: NON_EMPTY_GROUP");
}

static const void *deletes(struct fake *f, int16_t key, const void *request)
{
    bool describes = key == API_KEY_DESCRIBE_GROUPS || key == API_KEY_CONSUMER_GROUP_DESCRIBE;
    if (describes && f->more_state != NULL) {
        return describe_members(f, key, *(enum members *)f->more_state);
    }
    if (key != API_KEY_OFFSET_DELETE) {
        return fake_ends_and_changes(f, key, request);
    }
    struct offset_delete_response *r = ARENA_NEW(&f->arena, struct offset_delete_response, 1);
    wire_init(&wire_offset_delete_response, r);
    return r;
}

/* The index before is that of the group's coordinator; of shard 1, to which "behind" belongs, this node is none. */
static void what_was_done_says_how_it_is_undone(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE};
    struct fake *f = *state;
    fake_more(f, deletes, keys, COUNT_OF(keys));
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0,1", "--to-offset", "3", "--execute", NULL), CLI_OK, NULL,
               "to undo it: muster offsets reset old --topic orders:0,1 --to-index 5 --execute\n");
    assert_run(run_cli("offsets", "reset", "my group", "--topic", "orders:1", "--to-offset", "3", "--fence", "--execute", NULL), CLI_OK,
               NULL, "to undo it: muster offsets reset 'my group' --topic orders:1 --to-index 5 --fence --execute\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "3", "--execute", "--json", NULL), CLI_OK,
               "\"undo\": \"muster offsets reset old --topic orders:0 --to-index 5 --execute\"", "");
    struct run r = run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "10", "--execute", NULL);
    assert_null(strstr(r.err, "undo"));
    run_fini(&r);
    r = run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "3", NULL);
    assert_null(strstr(r.err, "undo"));
    run_fini(&r);
    r = run_cli("offsets", "delete", "behind", "--topic", "orders", "--execute", NULL);
    const char *said = strstr(r.err, "to undo it: muster offsets reset behind --topic orders:0,1,2 --to-time ");
    int64_t at_ms;
    char moment[32] = "";
    assert_non_null(said);
    assert_int_equal(sscanf(strstr(said, "--to-time "), "--to-time %31s --execute", moment), 1);
    assert_true(log_time_parse(moment, 0, &at_ms) && at_ms <= log_wall_ms() && at_ms > log_wall_ms() - 60000);
    assert_run(r, CLI_OK, NULL, "3 offsets are deleted\n");
}

/* A reset does not go by members but with a fence, although the deletion did. */
static void what_was_deleted_beside_members_is_undone_with_a_fence(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE, API_KEY_DESCRIBE_GROUPS,
                                   API_KEY_CONSUMER_GROUP_DESCRIBE};
    struct fake *f = *state;
    enum members members = MEMBERS_READ;
    fake_more(f, deletes, keys, COUNT_OF(keys));
    f->more_state = &members;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders:1", "--execute", NULL), CLI_OK, NULL, " --fence --execute\n");
    struct run r = run_cli("offsets", "delete", "behind", "--topic", "orders:1", "--fence", "--execute", NULL);
    assert_int_equal(count_of(r.err, "--fence"), 1);
    run_fini(&r);
}

static const void *fences(struct fake *f, int16_t key, const void *request)
{
    const void *answer = fake_ends_and_changes(f, key, request);
    if (key == API_KEY_ALTER_GROUP_OFFSETS) {
        const struct alter_group_offsets_request *alter = request;
        struct alter_group_offsets_response *r = (struct alter_group_offsets_response *)(uintptr_t)answer;
        r->fenced = *(int *)f->more_state;
        for (int32_t i = 0; i < r->topics.v[0].partitions.len; i++) {
            r->topics.v[0].partitions.v[i].after = alter->topics.v[0].partitions.v[i].action == 2 ? -1 : 3;
        }
    }
    return answer;
}

static void who_was_removed_is_said_to_come_back_where_it_does(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE};
    struct fake *f = *state;
    int fenced = 1;
    fake_more(f, fences, keys, COUNT_OF(keys));
    f->more_state = &fenced;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--fence", "--execute", NULL), CLI_OK, NULL,
               "group 'behind': 1 member was removed; it joins again by itself, and begins where its auto.offset.reset says\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "3", "--fence", "--execute", NULL), CLI_OK, NULL,
               "group 'old': 1 member was removed; it joins again by itself, and goes on from the new offsets\n");
    fenced = 2;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--fence", "--execute", NULL), CLI_OK, NULL,
               "group 'behind': 2 members were removed; they join again by themselves, and begin where their auto.offset.reset says\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "3", "--fence", "--execute", NULL), CLI_OK, NULL,
               "group 'old': 2 members were removed; they join again by themselves, and go on from the new offsets\n");
}

/* Partition 0 had an offset before, the others none. */
static const void *sets_new(struct fake *f, int16_t key, const void *request)
{
    const void *answer = fake_ends_and_changes(f, key, request);
    if (key == API_KEY_ALTER_GROUP_OFFSETS) {
        struct alter_group_offsets_response *r = (struct alter_group_offsets_response *)(uintptr_t)answer;
        for (int32_t i = 0; i < r->topics.v[0].partitions.len; i++) {
            altered *p = &r->topics.v[0].partitions.v[i];
            p->before = p->partition_index == 0 ? 10 : -1;
        }
    }
    return answer;
}

static void what_had_no_offset_before_is_undone_too(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE};
    struct fake *f = *state;
    fake_more(f, sets_new, keys, COUNT_OF(keys));
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0,1", "--to-offset", "3", "--execute", NULL), CLI_OK, NULL,
               "to undo it: muster offsets reset old --topic orders:0 --to-index 5 --execute\n"
               "muster: and of what had no offset before: muster offsets delete old --topic orders:1 --execute\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:1", "--to-offset", "3", "--fence", "--execute", NULL), CLI_OK, NULL,
               "to undo it: muster offsets delete old --topic orders:1 --fence --execute\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0,1", "--to-offset", "3", "--execute", "--json", NULL), CLI_OK,
               "\"undoNew\": \"muster offsets delete old --topic orders:1 --execute\"", "");
    assert_run(run_cli("offsets", "copy", "behind", "none", "--execute", NULL), CLI_OK, NULL, "to undo it: muster groups delete none\n");
    assert_run(run_cli("offsets", "pre-create", "made", "--topic", "orders:1", "--to-offset", "3", "--execute", NULL), CLI_OK, NULL,
               "to undo it: muster groups delete made\n");
}

/* More than a command line holds would have to name what had offsets before. */
static void what_is_too_much_for_a_command_line_is_not_deleted_whole(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    struct fake *f = *state;
    char topic[400] = "wide:1";
    fake_more(f, sets_new, keys, COUNT_OF(keys));
    for (int i = 2; i <= 50; i++) {
        snprintf(topic + strlen(topic), sizeof(topic) - strlen(topic), ",%d", i);
    }
    assert_run(run_cli("offsets", "reset", "old", "--topic", topic, "--to-offset", "3", "--execute", NULL), CLI_OK, NULL,
               ",49,50 --execute\n");
    snprintf(topic + strlen(topic), sizeof(topic) - strlen(topic), ",51");
    struct run r = run_cli("offsets", "reset", "old", "--topic", topic, "--to-offset", "3", "--execute", NULL);
    assert_null(strstr(r.err, "undo it"));
    assert_run(r, CLI_OK, NULL, "51 offsets are set\n");
}

/* A part of the change is done, and refused is what follows. */
static const void *alters_once(struct fake *f, int16_t key, const void *request)
{
    if (key != API_KEY_ALTER_GROUP_OFFSETS || (*(int *)f->more_state)++ == 0) {
        return sets_new(f, key, request);
    }
    struct alter_group_offsets_response *r = ARENA_NEW(&f->arena, struct alter_group_offsets_response, 1);
    wire_init(&wire_alter_group_offsets_response, r);
    r->error_code = 44;
    return r;
}

static void what_was_done_in_part_says_how_it_is_undone(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    static char topic[32000] = "wide:0";
    struct fake *f = *state;
    int asked = 0;
    size_t len = strlen(topic);
    for (int i = 1; i < 4100; i++) {
        len += (size_t)snprintf(topic + len, sizeof(topic) - len, ",%d", i);
    }
    fake_more(f, alters_once, keys, COUNT_OF(keys));
    f->more_state = &asked;
    assert_run(run_cli("offsets", "reset", "old", "--topic", topic, "--to-offset", "3", "--execute", NULL), CLI_FAILED, NULL,
               "group 'old': 4000 of 4100 offsets were changed\n"
               "muster: to undo it: muster offsets reset old --topic wide:0 --to-index 5 --execute\n");
    assert_int_equal(asked, 2);
    asked = 1;
    struct run r = run_cli("offsets", "reset", "old", "--topic", topic, "--to-offset", "3", "--execute", NULL);
    assert_null(strstr(r.err, "undo"));
    assert_run(r, CLI_FAILED, NULL, "group 'old': POLICY_VIOLATION");
}

static const void *deletes_group(struct fake *f, int16_t key, const void *request)
{
    if (key == API_KEY_DELETE_GROUPS) {
        struct delete_groups_response *r = ARENA_NEW(&f->arena, struct delete_groups_response, 1);
        wire_init(&wire_delete_groups_response, r);
        r->results.v = ARENA_NEW(&f->arena, struct delete_groups_response_deletable_group_result, 1);
        r->results.len = 1;
        r->results.v[0].group_id = ((const struct delete_groups_request *)request)->groups_names.v[0];
        r->results.v[0].error_code = str_eq(r->results.v[0].group_id, STR("none")) ? 69 : 0;
        return r;
    }
    return fake_lists_close(f, key, request);
}

static void a_deleted_group_says_how_it_comes_back(void **state)
{
    static const int16_t keys[] = {API_KEY_DELETE_GROUPS};
    struct fake *f = *state;
    fake_more(f, deletes_group, keys, COUNT_OF(keys));
    assert_run(run_cli("groups", "delete", "behind", NULL), CLI_OK, "behind  deleted",
               "to undo it: muster offsets pre-create behind --to-time ");
    assert_run(run_cli("groups", "delete", "behind", "--json", NULL), CLI_OK, "\"undo\": \"muster offsets pre-create behind --to-time ",
               "");
    struct run r = run_cli("groups", "delete", "old", NULL);
    assert_string_equal(r.err, "");
    run_fini(&r);
    r = run_cli("groups", "delete", "none", NULL);
    assert_string_equal(r.err, "muster: group 'none': GROUP_ID_NOT_FOUND: there is no such group\n");
    run_fini(&r);
}

/* Names of groups are what clients say: the command is not to do anything else when a shell takes it. */
static void the_command_that_undoes_is_one_for_a_shell(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    static const struct {
        const char *group, *before, *behind;
    } groups[] = {
        {"a'; reboot; '", " reset 'a'\\''; reboot; '\\''' --topic orders:1 --to-", " --execute\n"},
        {"$(reboot)", " reset '$(reboot)' --topic orders:1 --to-", " --execute\n"},
        {"a\\b", " reset 'a\\b' --topic orders:1 --to-", " --execute\n"},
        {"a\nb'\\", " reset $'a\\012b\\'\\\\' --topic orders:1 --to-", " --execute\n"},
        {"\xff", " reset $'\\377' --topic orders:1 --to-", " --execute\n"},
        {"''''", " reset ''\\'''\\'''\\'''\\''' --topic orders:1 --to-", " --execute\n"},
        {"--fence", " reset --topic orders:1 --to-", " --execute -- --fence\n"},
        {"-'", " reset --topic orders:1 --to-", " --execute -- '-'\\'''\n"},
    };
    struct fake *f = *state;
    fake_more(f, deletes, keys, COUNT_OF(keys));
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        struct run r = run_cli("offsets", "reset", "--topic", "orders:1", "--to-offset", "3", "--execute", "--", groups[i].group, NULL);
        assert_non_null(strstr(r.err, groups[i].before));
        assert_run(r, CLI_OK, NULL, groups[i].behind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_deletion_that_would_be_refused_is_planned_so, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_was_done_says_how_it_is_undone, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_was_deleted_beside_members_is_undone_with_a_fence, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(who_was_removed_is_said_to_come_back_where_it_does, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_had_no_offset_before_is_undone_too, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_is_too_much_for_a_command_line_is_not_deleted_whole, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_was_done_in_part_says_how_it_is_undone, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_deleted_group_says_how_it_comes_back, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(the_command_that_undoes_is_one_for_a_shell, fake_setup, fake_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
