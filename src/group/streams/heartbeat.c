/* heartbeat.c: StreamsGroupHeartbeat. Epoch 0 joins (join.c), a negative one leaves (leave.c), any other is a member's beat. */
#include "draft.h"

/* ---- a topology that somebody has to initialize ------------------------------------------------------------------------------------- */

/* One member is asked at a time; when it has not done it in time, the next one that comes by. */
static void ask_for_topology(struct draft *t)
{
    const struct streams_settings *s = &t->d->op->settings->streams;
    int64_t now = t->d->op->clock_ms;
    bool asked = !str_is_null(t->next.initializing_member) && now < t->next.initialize_until_ms;
    if (draft_topology(t) != NULL || asked) {
        return;
    }
    int64_t patience = s->initialize_timeout_ms >= 0 ? s->initialize_timeout_ms : t->put->rebalance_timeout_ms;
    t->next.initializing_member = t->member_id;
    t->next.initialize_until_ms = now + (patience > 0 ? patience : 0);
    t->changed = true;
}

/* ---- what the assignor goes by ---------------------------------------------------------------------------------------------------------- */

static bool number_is(struct str text, int64_t number)
{
    int64_t value = 0;
    int32_t i = 0;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && value < INT32_MAX; i++) {
        value = 10 * value + (text.ptr[i] - '0');
    }
    return text.len > 0 && i == text.len && value == number;
}

/* Whether the text is the keys with commas between them. */
static bool list_is(struct str text, const struct str_array *keys)
{
    int32_t at = 0;
    for (int32_t i = 0; i < keys->len; i++) {
        int32_t skip = i > 0 ? 1 : 0;
        struct str rest = {text.ptr + at + skip, keys->v[i].len};
        if (text.len - at - skip < keys->v[i].len || (skip > 0 && text.ptr[at] != ',') || !str_eq(rest, keys->v[i])) {
            return false;
        }
        at += skip + keys->v[i].len;
    }
    return at == text.len;
}

/* As draft_bump() writes them. */
static bool configs_moved(const struct draft *t)
{
    const struct streams_configs *c = &streams_part(t)->configs;
    const struct modern *s = &t->next;
    if (s->config_count != (c->tags.len > 0 ? 2 : 1)) {
        return true;
    }
    return !number_is(s->configs[0].value, c->num_standby_replicas) || (c->tags.len > 0 && !list_is(s->configs[1].value, &c->tags));
}

/* ---- what follows ---------------------------------------------------------------------------------------------------------------------------- */

static const char *beat_rule(const struct draft *t)
{
    if (t->assigned != NULL) {
        return RULE(HEARTBEAT_ASSIGNED);
    }
    if (t->position_put) {
        return RULE(HEARTBEAT_MOVED);
    }
    return t->changed || t->member_put || streams_part(t)->offsets_put ? RULE(HEARTBEAT_CHANGED) : RULE(HEARTBEAT_SAME);
}

/* As a running application beats; the epoch of the endpoints that it knows is part of the question, not news. */
static bool says_nothing(const heartbeat_request *r)
{
    bool describes = r->rebalance_timeout_ms != -1 || r->topology != NULL || !str_is_null(r->process_id) || !str_is_null(r->rack_id) ||
                     r->user_endpoint != NULL || r->client_tags.len >= 0 || r->shutdown_application;
    bool reports = r->active_tasks.len >= 0 || r->standby_tasks.len >= 0 || r->warmup_tasks.len >= 0 || r->task_offsets.len >= 0 ||
                   r->task_end_offsets.len >= 0;
    return !describes && !reports;
}

void heartbeat_finish(struct draft *t, const heartbeat_request *r, const struct holding *owned, const char *rule)
{
    sender_report_offsets(t, r);
    ask_for_topology(t);
    bool configs = configs_moved(t);
    if (configs || streams_draft_warmed_up(t)) {
        draft_bump(t, configs ? GROUP_CAUSE_CONFIGS : GROUP_CAUSE_WARMED_UP);
    }
    if (r->shutdown_application && str_is_null(t->next.shutdown_member)) {
        t->next.shutdown_member = t->member_id;
        t->changed = true;
    }
    streams_draft_assign(t);
    struct holding target = draft_target(t);
    draft_reconcile(t, &target, owned);
    endpoints_move(t);
    streams_draft_wish(t);
    draft_arm_session(t);
    heartbeat_answer(t, rule == NULL ? beat_rule(t) : rule, r, owned);
    draft_close(t);
    if (says_nothing(r)) {
        draft_hold_answer(t);
    }
}

/* It joined with a topology when there was none to compare it with: it has to bring it once more. */
static struct refused rejoin(const struct draft *t)
{
    return (struct refused){
        .error = KAFKA_FENCED_MEMBER_EPOCH,
        .text = arena_printf(t->d->arena,
                             "The topology of group %.*s has been initialized. The member must rejoin, so that its own is compared.",
                             STR_ARG(t->d->op->group_id)),
        .rule = RULE(UNVERIFIED)};
}

static void beat(struct draft *t, const heartbeat_request *r)
{
    const struct modern_slot *slot = NULL;
    struct sender who = sender_of(r);
    struct refused refused = sender_find(t, &who, &slot);
    struct member_position position = slot == NULL ? (struct member_position){.state = MEMBER_STABLE} : modern_position(slot);
    const struct holding *owned = refused.error == KAFKA_NONE ? sender_owned(t, r, &position) : NULL;
    refused = refused.error == KAFKA_NONE ? sender_check_epoch(t, &who, slot, owned) : refused;
    refused = refused.error == KAFKA_NONE ? heartbeat_check_owned(t, r, slot, owned) : refused;
    if (refused.error == KAFKA_NONE && slot->member->topology_epoch == TOPOLOGY_UNVERIFIED && draft_topology(t) != NULL) {
        refused = rejoin(t);
    }
    if (refused.error != KAFKA_NONE) {
        heartbeat_refuse(t->d, refused);
        return;
    }
    draft_hold(t, slot);
    sender_update(t, r, slot->member, slot->member->topology_epoch);
    refused = sender_check_growth(t);
    if (refused.error != KAFKA_NONE) {
        heartbeat_refuse(t->d, refused);
        return;
    }
    heartbeat_finish(t, r, owned, NULL);
}

static struct refused unknown_group(const struct draft *t, const heartbeat_request *r)
{
    struct refused refused = {.error = KAFKA_GROUP_ID_NOT_FOUND, .rule = RULE(OTHER_TYPE)};
    if (t->g != NULL) {
        refused.text = arena_printf(t->d->arena, "Group %.*s is not a streams group.", STR_ARG(r->group_id));
        return refused;
    }
    refused.rule = RULE(NO_GROUP);
    refused.text = arena_printf(t->d->arena, "%s %.*s not found.", r->member_epoch < 0 ? "Group" : "Streams group", STR_ARG(r->group_id));
    return refused;
}

void streams_decide_heartbeat(struct decision *d)
{
    const heartbeat_request *r = d->op->request;
    struct draft t;
    streams_draft_open(&t, d, group_find(d->set, d->op->group_id));
    struct refused refused = heartbeat_check(&t, r);
    if (refused.error == KAFKA_NONE && r->member_epoch != 0 && t.is_new) {
        refused = unknown_group(&t, r);
    }
    if (refused.error != KAFKA_NONE) {
        heartbeat_refuse(d, refused);
    } else if (r->member_epoch == 0) {
        heartbeat_join(&t, r);
    } else if (r->member_epoch < 0) {
        heartbeat_leave(&t, r);
    } else {
        beat(&t, r);
    }
}
