/* assignment.c: a consumer group's partitions are assigned anew: here, or, when that would take long, by a job. */
#include "draft.h"

#include "../modern/job.h"
#include "../names.h"
#include "../sorted.h"

/* ---- which assignor ------------------------------------------------------------------------------------------------------------------- */

static void vote(const struct group_settings *settings, const struct modern_member *m, int32_t votes[ASSIGNOR_COUNT])
{
    enum consumer_assignor a;
    if (!str_is_null(m->assignor) && consumer_offers(settings, m->assignor, &a)) {
        votes[a]++;
    }
}

/* Among equals the first one configured. */
static enum consumer_assignor winner(const struct group_settings *settings, const int32_t votes[ASSIGNOR_COUNT])
{
    enum consumer_assignor best = ASSIGNOR_UNIFORM;
    consumer_offers(settings, STR_NULL, &best);
    for (int a = 0; a < ASSIGNOR_COUNT; a++) {
        best = votes[a] > votes[best] ? (enum consumer_assignor)a : best;
    }
    return best;
}

enum consumer_assignor consumer_assignor_of(const struct modern *s, const struct group_settings *settings)
{
    int32_t votes[ASSIGNOR_COUNT] = {0};
    for (int32_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].member != NULL) {
            vote(settings, s->slots[i].member, votes);
        }
    }
    return winner(settings, votes);
}

enum consumer_assignor consumer_draft_assignor(const struct draft *t)
{
    const struct group_settings *settings = t->d->op->settings;
    int32_t votes[ASSIGNOR_COUNT] = {0};
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        if (draft_has(t, &t->was->slots[i])) {
            vote(settings, t->was->slots[i].member, votes);
        }
    }
    if (!str_is_null(t->member_id)) {
        vote(settings, t->put, votes);
    }
    return winner(settings, votes);
}

/* ---- what the assignor takes ------------------------------------------------------------------------------------------------------------ */

/* Members often subscribe to the same: what was worked out for one of the last few serves the next. */
enum { KNOWN_SETS = 8 };
struct topic_set {
    const struct str_array *names;
    struct str regex;
    int32_t *places;
    int32_t count;
};
struct builder {
    struct arena *arena;
    const struct topic_view *by_name; /* topics that exist, in order of names */
    const int32_t *place;             /* of each of them among the topics in order of ids */
    int32_t count;
    struct regex_table regexes;
    struct topic_set known[KNOWN_SETS];
    int32_t known_count;
    bool
        mixed; /* as Kafka 4.4.0 counts: by what members name; who names topics besides an expression is unlike the others, even the same */
};

static int topic_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((const struct topic_view *)in)[place].name, *(const struct str *)key);
}

static int32_t find_topic(const struct builder *b, struct str name)
{
    return sorted_find(b->by_name, b->count, topic_order, &name);
}

static void add_places(const struct builder *b, const struct str_array *names, bool *reads)
{
    for (int32_t i = 0; i < names->len; i++) {
        int32_t at = find_topic(b, names->v[i]);
        if (at >= 0) {
            reads[b->place[at]] = true;
        }
    }
}

static void make_set(const struct builder *b, const struct modern_member *m, struct topic_set *ret)
{
    bool *reads = ARENA_NEW(b->arena, bool, b->count);
    add_places(b, &m->topics, reads);
    const struct regex_topics *matched = str_is_null(m->regex) ? NULL : regex_table_find(&b->regexes, m->regex);
    if (matched != NULL) {
        add_places(b, &matched->topics, reads);
    }
    *ret = (struct topic_set){.names = &m->topics, .regex = m->regex, .places = ARENA_NEW(b->arena, int32_t, b->count)};
    for (int32_t i = 0; i < b->count; i++) {
        if (reads[i]) {
            ret->places[ret->count++] = i;
        }
    }
}

static bool is_set_of(const struct topic_set *set, const struct modern_member *m)
{
    bool same = str_is_null(set->regex) == str_is_null(m->regex) && (str_is_null(set->regex) || str_eq(set->regex, m->regex)) &&
                set->names->len == m->topics.len;
    for (int32_t i = 0; same && i < m->topics.len; i++) {
        same = str_eq(set->names->v[i], m->topics.v[i]);
    }
    return same;
}

static const struct topic_set *set_of(struct builder *b, const struct modern_member *m)
{
    for (int32_t i = 0; i < b->known_count && i < KNOWN_SETS; i++) {
        if (is_set_of(&b->known[i], m)) {
            return &b->known[i];
        }
    }
    struct topic_set *set = &b->known[b->known_count++ % KNOWN_SETS];
    make_set(b, m, set);
    return set;
}

static int by_id(const struct topic_view *a, const struct topic_view *b)
{
    return uuid_cmp(a->id, b->id);
}

/* The places of the topics in order of their ids; a merge sort, for there is no other that needs no context. */
static void sort_ids(const struct topic_view *v, int32_t *order, int32_t *spare, int32_t len)
{
    if (len < 2) {
        return;
    }
    int32_t half = len / 2;
    sort_ids(v, order, spare, half);
    sort_ids(v, order + half, spare, len - half);
    int32_t a = 0, b = half, n = 0;
    while (a < half || b < len) {
        bool left = b == len || (a < half && by_id(&v[order[a]], &v[order[b]]) <= 0);
        spare[n++] = left ? order[a++] : order[b++];
    }
    for (int32_t i = 0; i < len; i++) {
        order[i] = spare[i];
    }
}

static void set_topics(struct builder *b, struct consumer_assign_input *in)
{
    int32_t *order = ARENA_NEW(b->arena, int32_t, b->count), *spare = ARENA_NEW(b->arena, int32_t, b->count);
    int32_t *place = ARENA_NEW(b->arena, int32_t, b->count);
    struct consumer_topic *topics = ARENA_NEW(b->arena, struct consumer_topic, b->count);
    for (int32_t i = 0; i < b->count; i++) {
        order[i] = i;
    }
    sort_ids(b->by_name, order, spare, b->count);
    for (int32_t i = 0; i < b->count; i++) {
        const struct topic_view *topic = &b->by_name[order[i]];
        place[order[i]] = i;
        topics[i] = (struct consumer_topic){.id = unit_of_topic(&topic->id), .partitions = topic->partitions};
    }
    b->place = place;
    in->topics = topics;
    in->topic_count = b->count;
}

static void add_member(struct builder *b, struct consumer_subscriber *to, struct str member_id, const struct modern_member *m,
                       struct units had)
{
    const struct topic_set *set = set_of(b, m);
    b->mixed = b->mixed || b->known_count > 1 || (!str_is_null(m->regex) && m->topics.len > 0);
    *to = (struct consumer_subscriber){.member_id = member_id,
                                       .instance_id = m->instance_id,
                                       .rack_id = m->rack_id,
                                       .topics = set->places,
                                       .topic_count = set->count,
                                       .had = had};
}

static void view_of_draft(const struct draft *t, struct consumer_assign_input *ret)
{
    struct builder b = {.arena = t->d->arena, .regexes = consumer_draft_regexes(t)};
    b.by_name = consumer_draft_topics(t, &b.count);
    set_topics(&b, ret);
    struct consumer_subscriber *v = ARENA_NEW(b.arena, struct consumer_subscriber, t->next.member_count);
    bool put = str_is_null(t->member_id);
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        if (!put && str_cmp(t->member_id, slot->member_id) <= 0) {
            add_member(&b, &v[ret->member_count++], t->member_id, t->put, t->target.kind[UNITS_ACTIVE]);
            put = true;
        }
        if (draft_has(t, slot)) {
            add_member(&b, &v[ret->member_count++], slot->member_id, slot->member, modern_target(slot).kind[UNITS_ACTIVE]);
        }
    }
    if (!put) {
        add_member(&b, &v[ret->member_count++], t->member_id, t->put, t->target.kind[UNITS_ACTIVE]);
    }
    MUSTER_CHECK(ret->member_count == t->next.member_count);
    ret->members = v;
    ret->mixed = b.mixed;
}

/* ---- computing it ------------------------------------------------------------------------------------------------------------------------ */

static void assign(enum consumer_assignor a, const struct consumer_assign_input *in, struct arena *arena, struct assign_result *ret)
{
    struct units *units = ARENA_NEW(arena, struct units, in->member_count);
    struct assigned_member *members = ARENA_NEW(arena, struct assigned_member, in->member_count);
    consumer_assign(a, in, arena, units);
    for (int32_t i = 0; i < in->member_count; i++) {
        members[i] = (struct assigned_member){.member_id = in->members[i].member_id, .target = {{units[i]}}};
    }
    *ret = (struct assign_result){members, in->member_count};
}

void consumer_draft_assign(struct draft *t)
{
    if (assignment_wait(t) != ASSIGNMENT_DUE) {
        return;
    }
    int32_t set = t->d->op->settings->consumer.assign_inline_cost;
    int64_t most = set > 0 ? set : CONSUMER_ASSIGN_INLINE;
    if (consumer_part(t)->configs.offload && t->next.member_count > most) {
        t->d->out->assign = true; /* no need to look */
        return;
    }
    enum consumer_assignor a = consumer_draft_assignor(t);
    struct consumer_assign_input in = {0};
    view_of_draft(t, &in);
    if (consumer_part(t)->configs.offload && consumer_assign_cost(a, &in) > most) {
        t->d->out->assign = true;
        return;
    }
    struct assign_result *result = ARENA_NEW(t->d->arena, struct assign_result, 1);
    assign(a, &in, t->d->arena, result);
    draft_take_result(t, result);
}

/* ---- as a job ------------------------------------------------------------------------------------------------------------------------------ */

struct work {
    enum consumer_assignor assignor;
    struct consumer_assign_input in;
};

static void run(void *ctx, struct arena *arena, struct assign_result *ret)
{
    const struct work *work = ctx;
    assign(work->assignor, &work->in, arena, ret);
}

static struct units own_units(struct units units, struct arena *arena)
{
    struct unit *v = ARENA_NEW(arena, struct unit, units.len);
    struct str name = STR_NULL;
    for (int32_t i = 0; i < units.len; i++) {
        if (i == 0 || !str_eq(units.v[i].name, units.v[i - 1].name)) {
            name = arena_str(arena, units.v[i].name);
        }
        v[i] = (struct unit){.name = name, .partition = units.v[i].partition};
    }
    return (struct units){v, units.len};
}

/* The input with everything it borrows from the state in the arena; the lists of topics lie there already. */
static void own_input(struct consumer_assign_input *in, struct arena *arena)
{
    struct consumer_topic *topics = ARENA_NEW(arena, struct consumer_topic, in->topic_count);
    struct consumer_subscriber *members = ARENA_NEW(arena, struct consumer_subscriber, in->member_count);
    for (int32_t i = 0; i < in->topic_count; i++) {
        topics[i] = in->topics[i];
        topics[i].id = arena_str(arena, in->topics[i].id);
    }
    for (int32_t i = 0; i < in->member_count; i++) {
        members[i] = in->members[i];
        members[i].member_id = arena_str(arena, in->members[i].member_id);
        members[i].instance_id = arena_str(arena, in->members[i].instance_id);
        members[i].rack_id = arena_str(arena, in->members[i].rack_id);
        members[i].had = own_units(in->members[i].had, arena);
    }
    in->topics = topics;
    in->members = members;
}

static bool prepare_assign(struct group_job *job, const struct modern *s, const struct group_op *op, const struct draft *t)
{
    if (s->member_count == 0 || s->epoch <= assignment_epoch(s)) {
        return false;
    }
    (void)op;
    struct work *work = ARENA_NEW(&job->arena, struct work, 1);
    work->assignor = consumer_draft_assignor(t);
    view_of_draft(t, &work->in);
    own_input(&work->in, &job->arena);
    job->work = work;
    job->assign = run;
    job->stamp.metadata_hash = s->metadata_hash;
    return true;
}

static bool prepare_resolve(struct group_job *job, const struct modern *s, const struct group_op *op)
{
    struct str *patterns = ARENA_NEW(&job->arena, struct str, s->member_count);
    int32_t count = 0;
    for (int32_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].member != NULL && !str_is_null(s->slots[i].member->regex)) {
            patterns[count++] = s->slots[i].member->regex;
        }
    }
    if (count > 0) {
        matching_new(patterns, count, op->topics, &job->arena, &job->matching);
    }
    return count > 0;
}

bool consumer_job_prepare(struct group_job *job, const struct modern *s, const struct group_op *op)
{
    if (job->kind == GROUP_JOB_RESOLVE) {
        return prepare_resolve(job, s, op);
    }
    /* A draft without changes is the group as it is. */
    struct draft t;
    struct decision d = {.op = op, .arena = &job->arena};
    struct group g = {.id = op->group_id, .consumer = (struct modern *)(uintptr_t)s};
    consumer_draft_open(&t, &d, &g);
    return prepare_assign(job, s, op, &t);
}

/* ---- each member's way there ------------------------------------------------------------------------------------------------------------------ */

struct units consumer_still_read(const struct draft *t, const struct modern_member *m, struct units units)
{
    const struct topics *topics = t->d->op->topics;
    struct regex_table regexes = consumer_draft_regexes(t);
    struct unit_list list;
    unit_list_init(&list, t->d->arena);
    struct topic_view topic;
    bool reads = false;
    for (int32_t i = 0; i < units.len; i++) {
        if (i == 0 || !str_eq(units.v[i].name, units.v[i - 1].name)) {
            reads = topics->by_id(topics->ctx, topic_of_unit(units.v[i].name), &topic) && consumer_member_reads(m, &regexes, topic.name);
        }
        if (reads) {
            unit_list_add(&list, units.v[i].name, units.v[i].partition, units.v[i].epoch);
        }
    }
    return unit_list_finish(&list);
}

/* Seen on Kafka 4.4.0: what a member does not subscribe to any more it gives up at once, whatever the assignment in force says. */
static bool drop_unread(struct draft *t, const struct holding *owned)
{
    struct units has = t->before.assigned.kind[UNITS_ACTIVE];
    struct units keeps = consumer_still_read(t, t->put, has);
    if (keeps.len == has.len) {
        return false;
    }
    if (t->before.state == MEMBER_UNREVOKED && owned != NULL && !holding_meet(owned, &t->before.revoking)) {
        return false; /* it has let go of all that it was told to: its next step is as ever, and it has all its time for that */
    }
    bool confirms = owned != NULL && !units_meet(owned->kind[UNITS_ACTIVE], units_minus(has, keeps, t->d->arena));
    struct units revoking = units_join(t->before.revoking.kind[UNITS_ACTIVE], units_minus(has, keeps, t->d->arena), t->d->arena);
    t->after = t->before;
    t->after.assigned.kind[UNITS_ACTIVE] = keeps;
    if (!confirms || t->before.state == MEMBER_UNREVOKED) {
        t->after.state = MEMBER_UNREVOKED;
        t->after.revoking.kind[UNITS_ACTIVE] = revoking;
        t->after.previous_epoch = t->before.epoch;
        if (t->before.state != MEMBER_UNREVOKED && !t->put->is_classic) {
            int32_t patience = t->put->rebalance_timeout_ms;
            out_timer(t->d, GROUP_TIMER_REVOKE, t->member_id, t->after.epoch, patience > 0 ? patience : 0);
        }
    }
    t->position_put = true;
    return true;
}

void consumer_draft_reconcile(struct draft *t, const struct holding *owned)
{
    struct holding target = draft_target(t);
    bool due = t->before.epoch != assignment_epoch(&t->next) && t->before.state != MEMBER_UNREVOKED;
    if (consumer_part(t)->subscription_changed && !due && drop_unread(t, owned)) {
        return;
    }
    bool moves = due || t->before.state != MEMBER_STABLE || consumer_part(t)->subscription_changed;
    if (moves) {
        target.kind[UNITS_ACTIVE] = consumer_still_read(t, t->put, target.kind[UNITS_ACTIVE]);
    }
    draft_reconcile(t, &target, owned);
}
