/* reconcile.c, step by step. Tasks of subtopology "0" are written as digits: "0123". The epochs are those that Kafka 4.4.0 showed for the same steps. */
#include "tests.h"

#include <string.h>

#include <muster/base.h>
#include "modern/reconcile.h"

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static struct units tasks(const char *digits, int32_t epoch)
{
    struct unit_list l;
    unit_list_init(&l, &arena);
    for (const char *at = digits; *at != '\0'; at++) {
        unit_list_add(&l, STR("0"), *at - '0', epoch);
    }
    return unit_list_finish(&l);
}

static struct holding active(const char *digits, int32_t epoch)
{
    struct holding h = {0};
    h.kind[UNITS_ACTIVE] = tasks(digits, epoch);
    return h;
}

static bool taken(const void *ctx, enum unit_kind kind, const struct unit *unit)
{
    const struct holding *others = ctx;
    return units_find(others->kind[kind], unit->name, unit->partition) != NULL;
}

/* One step; owned NULL: no report. others: what is taken. True when the position moved. */
static bool step(struct member_position *m, int32_t target_epoch, const char *target, const char *owned, const char *others)
{
    struct member_position now = *m;
    struct holding wanted = active(target, 0), has = active(owned != NULL ? owned : "", 0), held = active(others, 0);
    struct reconcile r = {.counts_steps = true,
                          .now = &now,
                          .target_epoch = target_epoch,
                          .target = &wanted,
                          .owned = owned != NULL ? &has : NULL,
                          .taken = taken,
                          .ctx = &held};
    return reconcile(&r, &arena, m);
}

static void assert_position(const struct member_position *m, int32_t epoch, int32_t previous, enum member_state state, const char *assigned,
                            const char *revoking)
{
    assert_int_equal(m->epoch, epoch);
    assert_int_equal(m->previous_epoch, previous);
    assert_int_equal(m->state, state);
    struct holding a = active(assigned, 0), r = active(revoking, 0);
    assert_true(holding_equal(&m->assigned, &a));
    assert_true(holding_equal(&m->revoking, &r));
}

static void the_first_member_gets_all_at_once(void **state)
{
    (void)state;
    struct member_position a = {.state = MEMBER_STABLE};
    assert_true(step(&a, 2, "0123", "", ""));
    assert_position(&a, 2, 0, MEMBER_STABLE, "0123", "");
    assert_int_equal(a.assigned.kind[UNITS_ACTIVE].v[3].epoch, 2);
    assert_false(step(&a, 2, "0123", NULL, ""));
    assert_false(step(&a, 2, "0123", "0123", ""));
}

static void the_second_member_waits_for_the_first(void **state)
{
    (void)state;
    struct member_position a = {.state = MEMBER_STABLE}, b = {.state = MEMBER_STABLE};
    step(&a, 2, "0123", "", "");
    assert_true(step(&b, 3, "23", "", "0123"));
    assert_position(&b, 3, 0, MEMBER_UNRELEASED, "", "");
    assert_true(step(&b, 3, "23", NULL, "0123"));
    assert_position(&b, 3, 3, MEMBER_UNRELEASED, "", ""); /* once more, then nothing */
    assert_false(step(&b, 3, "23", NULL, "0123"));

    assert_true(step(&a, 3, "01", NULL, ""));
    assert_position(&a, 2, 2, MEMBER_UNREVOKED, "01", "23");
    assert_false(step(&a, 3, "01", NULL, ""));   /* it did not say */
    assert_false(step(&a, 3, "01", "0123", "")); /* it still has them */
    assert_false(step(&a, 3, "01", "013", ""));  /* and one of them */
    assert_true(step(&a, 3, "01", "0", ""));     /* fewer than it keeps is fine */
    assert_position(&a, 3, 2, MEMBER_STABLE, "01", "");
    assert_int_equal(a.assigned.kind[UNITS_ACTIVE].v[0].epoch, 2);

    assert_true(step(&b, 3, "23", NULL, "01"));
    assert_position(&b, 3, 3, MEMBER_STABLE, "23", "");
    assert_int_equal(b.assigned.kind[UNITS_ACTIVE].v[1].epoch, 3);
}

static void what_is_free_is_given_and_the_rest_later(void **state)
{
    (void)state;
    struct member_position c = {.state = MEMBER_STABLE};
    assert_true(step(&c, 4, "46", "", "6"));
    assert_position(&c, 4, 0, MEMBER_UNRELEASED, "4", "");
    assert_true(step(&c, 5, "468", NULL, ""));
    assert_position(&c, 5, 4, MEMBER_STABLE, "468", "");
    const struct unit *v = c.assigned.kind[UNITS_ACTIVE].v;
    assert_int_equal(v[0].epoch, 4);
    assert_int_equal(v[1].epoch, 5);
    assert_int_equal(v[2].epoch, 5);
}

static void one_that_has_let_go_already_is_not_told(void **state)
{
    (void)state;
    struct member_position a = {.state = MEMBER_STABLE};
    step(&a, 2, "01234567", "", "");
    assert_true(step(&a, 3, "0123", "0123", ""));
    assert_position(&a, 3, 2, MEMBER_STABLE, "0123", "");
    assert_true(step(&a, 4, "01", "02", "")); /* it has one of them still */
    assert_position(&a, 3, 3, MEMBER_UNREVOKED, "01", "23");
}

static void a_newer_target_that_takes_more(void **state)
{
    (void)state;
    struct member_position a = {.state = MEMBER_STABLE};
    step(&a, 2, "01234567", "", "");
    step(&a, 3, "0123", NULL, "");
    assert_position(&a, 2, 2, MEMBER_UNREVOKED, "0123", "4567");
    assert_true(step(&a, 4, "012", "0123", ""));
    assert_position(&a, 3, 2, MEMBER_UNREVOKED, "012", "3");
    assert_true(step(&a, 4, "012", "012", ""));
    assert_position(&a, 4, 3, MEMBER_STABLE, "012", "");
}

static void a_newer_target_that_gives_back(void **state)
{
    (void)state;
    struct member_position a = {.state = MEMBER_STABLE};
    step(&a, 2, "0123", "", "");
    step(&a, 3, "01", NULL, "");
    assert_false(step(&a, 4, "0123", NULL, "")); /* what was taken away is given up first */
    assert_true(step(&a, 4, "0123", "01", ""));
    assert_position(&a, 4, 2, MEMBER_STABLE, "0123", "");
    assert_int_equal(a.assigned.kind[UNITS_ACTIVE].v[0].epoch, 2);
    assert_int_equal(a.assigned.kind[UNITS_ACTIVE].v[2].epoch, 4);
}

static void nothing_to_do_but_the_epoch(void **state)
{
    (void)state;
    struct member_position a = {.epoch = 7, .previous_epoch = 7, .state = MEMBER_STABLE, .assigned = active("01", 5)};
    assert_true(step(&a, 9, "01", NULL, ""));
    assert_position(&a, 9, 7, MEMBER_STABLE, "01", "");
    assert_int_equal(a.assigned.kind[UNITS_ACTIVE].v[0].epoch, 5);
}

static void kinds_are_apart(void **state)
{
    (void)state;
    struct member_position now = {.epoch = 3, .previous_epoch = 3, .state = MEMBER_STABLE};
    now.assigned.kind[UNITS_STANDBY] = tasks("24", 0);
    struct holding target = {0}, others = {0};
    target.kind[UNITS_ACTIVE] = tasks("1", 0);
    target.kind[UNITS_STANDBY] = tasks("25", 0);
    target.kind[UNITS_WARMUP] = tasks("3", 0);
    others.kind[UNITS_WARMUP] = tasks("3", 0);
    struct reconcile r = {.now = &now, .target_epoch = 4, .target = &target, .taken = taken, .ctx = &others};
    struct member_position next;
    assert_true(reconcile(&r, &arena, &next));
    assert_int_equal(next.state, MEMBER_UNREVOKED); /* a standby task to be given up holds the active ones back, too */
    assert_int_equal(next.assigned.kind[UNITS_STANDBY].len, 1);
    assert_int_equal(next.revoking.kind[UNITS_STANDBY].len, 1);
    assert_int_equal(next.assigned.kind[UNITS_ACTIVE].len, 0);
    now = next;
    struct holding owned = {0};
    owned.kind[UNITS_STANDBY] = tasks("2", 0);
    owned.kind[UNITS_ACTIVE] = tasks("4", 0); /* of another kind: does not count as the standby task */
    r.owned = &owned;
    assert_true(reconcile(&r, &arena, &next));
    assert_int_equal(next.state, MEMBER_UNRELEASED);
    assert_int_equal(next.epoch, 4);
    assert_int_equal(next.assigned.kind[UNITS_ACTIVE].v[0].epoch, 4);
    assert_int_equal(next.assigned.kind[UNITS_STANDBY].len, 2);
    assert_int_equal(next.assigned.kind[UNITS_STANDBY].v[1].epoch, 0);
    assert_int_equal(next.assigned.kind[UNITS_WARMUP].len, 0);
}

/* What a member has of each kind, as digits. */
static void assert_kinds(const struct holding *h, const char *actives, const char *standbys, const char *warmups)
{
    assert_true(units_equal(h->kind[UNITS_ACTIVE], tasks(actives, 0)));
    assert_true(units_equal(h->kind[UNITS_STANDBY], tasks(standbys, 0)));
    assert_true(units_equal(h->kind[UNITS_WARMUP], tasks(warmups, 0)));
}

static struct holding kinds(const char *actives, const char *standbys, const char *warmups)
{
    return (struct holding){.kind = {tasks(actives, 2), tasks(standbys, 0), tasks(warmups, 0)}};
}

static struct member_position turned(struct holding has, struct holding target, struct holding others)
{
    struct member_position now = {.epoch = 3, .previous_epoch = 2, .state = MEMBER_STABLE, .assigned = has}, next;
    struct reconcile r = {.now = &now, .target_epoch = 4, .target = &target, .taken = taken, .ctx = &others};
    assert_true(reconcile(&r, &arena, &next));
    return next;
}

static void a_task_changes_its_kind_where_it_is(void **state)
{
    (void)state;
    struct member_position p = turned(kinds("0123", "", ""), kinds("01", "23", ""), kinds("", "", ""));
    assert_int_equal(p.state, MEMBER_UNREVOKED); /* given up as active, had as standby */
    assert_kinds(&p.assigned, "01", "23", "");
    assert_kinds(&p.revoking, "23", "", "");

    p = turned(kinds("3", "01", ""), kinds("03", "1", ""), kinds("", "", ""));
    assert_int_equal(p.state, MEMBER_STABLE); /* a standby rises at once */
    assert_int_equal(p.epoch, 4);
    assert_kinds(&p.assigned, "03", "1", "");
    assert_int_equal(p.assigned.kind[UNITS_ACTIVE].v[0].epoch, 4);

    p = turned(kinds("3", "", "0"), kinds("03", "", ""), kinds("0", "", ""));
    assert_int_equal(p.state, MEMBER_UNRELEASED); /* goes on warming up while another has it */
    assert_kinds(&p.assigned, "3", "", "0");

    p = turned(kinds("35", "0", ""), kinds("03", "", ""), kinds("", "", ""));
    assert_int_equal(p.state, MEMBER_UNREVOKED); /* 5 is given up first */
    assert_kinds(&p.assigned, "3", "0", "");
    assert_kinds(&p.revoking, "5", "", "");

    p = turned(kinds("3", "", "0"), kinds("3", "0", ""), kinds("", "", ""));
    assert_int_equal(p.state, MEMBER_STABLE);
    assert_kinds(&p.assigned, "3", "0", "");

    p = turned(kinds("3", "01", ""), kinds("3", "1", ""), kinds("", "", ""));
    assert_int_equal(p.state, MEMBER_UNREVOKED); /* one that goes elsewhere is given up */
    assert_kinds(&p.revoking, "", "0", "");
}

/* A log may say anything. */
static void there_is_no_epoch_after_the_largest(void **state)
{
    (void)state;
    struct member_position m = {
        .epoch = INT32_MAX, .previous_epoch = 5, .state = MEMBER_UNREVOKED, .assigned = active("02", 5), .revoking = active("1", 5)};
    assert_true(step(&m, INT32_MAX, "0", "02", ""));
    assert_position(&m, INT32_MAX, INT32_MAX, MEMBER_UNREVOKED, "0", "2");
}

/* Protocol facts, section 4: any epoch from the one the unit was given with up to the member's, if it still owns it; else the member's own. */
static void epochs_of_commits(void **state)
{
    (void)state;
    struct unit unit = {.name = STR("0"), .partition = 1, .epoch = 5};
    for (int32_t sent = -1; sent < 12; sent++) {
        assert_int_equal(commit_epoch_ok(sent, 9, &unit), sent >= 5 && sent <= 9);
        assert_int_equal(commit_epoch_ok(sent, 9, NULL), sent == 9);
    }
}

int run_reconcile_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_member_gets_all_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(the_second_member_waits_for_the_first, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_free_is_given_and_the_rest_later, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_has_let_go_already_is_not_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newer_target_that_takes_more, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newer_target_that_gives_back, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_to_do_but_the_epoch, setup, teardown),
        cmocka_unit_test_setup_teardown(kinds_are_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_task_changes_its_kind_where_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_no_epoch_after_the_largest, setup, teardown),
        cmocka_unit_test(epochs_of_commits),
    };
    return cmocka_run_group_tests_name("reconcile", tests, NULL, NULL);
}
