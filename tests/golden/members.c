/* members.c: the commands about the members of the cluster. */
#include "words.h"

#include <stdlib.h>
#include <string.h>

static struct world_request *member_request(const struct words *w, enum group_op_kind kind, const struct wire_msg *answer)
{
    struct world_request *r = request_new(w, kind, answer, 0);
    r->op.group_id = STR_NULL;
    return r;
}

static struct int32_array numbers_of(struct arena *arena, char *list)
{
    struct int32_array ret = {ARENA_NEW(arena, int32_t, CATALOG_MAX_MEMBERS), 0};
    for (char *part; (part = next_part(&list, ",")) != NULL && ret.len < CATALOG_MAX_MEMBERS;) {
        ret.v[ret.len++] = (int32_t)strtol(part, NULL, 10);
    }
    return ret;
}

static int8_t place_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (int8_t)i;
        }
    }
    bad_command("no such kind", name);
}

/* change-member add node=4 at=h:9093 learner=1 up=1,2,3 */
void command_change_member(struct golden *g, const struct words *w)
{
    static const char *const kinds[] = {"nothing", "add", "promote", "remove", "replace"};
    struct world_request *r = member_request(w, CATALOG_CHANGE_MEMBER, &wire_change_member_response);
    struct change_member_request *q = ARENA_NEW(&r->arena, struct change_member_request, 1);
    wire_init(&wire_change_member_request, q);
    q->kind = place_of(w->count > 1 ? w->word[1] : "", kinds, COUNT_OF(kinds));
    q->node_id = (int32_t)number_value(w, "node", 0);
    q->peer_address = own(r, str_value(w, "at", NULL));
    q->learner = number_value(w, "learner", 0) != 0;
    q->force = number_value(w, "force", 0) != 0;
    r->op.reachable = numbers_of(&r->arena, copy_value(w, "up", "1,2,3", &r->arena));
    r->op.request = q;
    world_submit(&g->world, r);
}

/* member-step found nodes=1,2,3 incomplete=1; member-step joined change=1 */
void command_member_step(struct golden *g, const struct words *w)
{
    static const char *const kinds[] = {"found", "joined", "return", "done", "give-up"};
    struct world_request *r = member_request(w, CATALOG_MEMBER_STEP, &wire_change_member_response);
    struct member_step *step = ARENA_NEW(&r->arena, struct member_step, 1);
    struct int32_array nodes = numbers_of(&r->arena, copy_value(w, "nodes", "", &r->arena));
    struct catalog_member *founders = ARENA_NEW(&r->arena, struct catalog_member, CATALOG_MAX_MEMBERS);
    for (int32_t i = 0; i < nodes.len; i++) {
        struct str address = arena_printf(&r->arena, "h%d:9093", nodes.v[i]);
        founders[i] = (struct catalog_member){.node_id = nodes.v[i], .incarnation = {{(uint8_t)nodes.v[i]}}, .peer_address = address};
    }
    *step = (struct member_step){.kind = (enum member_step_kind)place_of(w->count > 1 ? w->word[1] : "", kinds, COUNT_OF(kinds)),
                                 .change_id = number_value(w, "change", -1),
                                 .founders = founders,
                                 .founder_count = (size_t)nodes.len,
                                 .incomplete = number_value(w, "incomplete", 0) != 0,
                                 .reason = own(r, str_value(w, "reason", NULL))};
    r->op.release = STR("9.1");
    r->op.request = step;
    world_submit(&g->world, r);
}

/* register-node node=4 level=2 at=h4:9093 folder=old: its own incarnation is that of the member unless another folder is named. */
void command_register_node(struct golden *g, const struct words *w)
{
    struct world_request *r = member_request(w, CATALOG_REGISTER_NODE, &wire_register_node_response);
    struct register_node_request *q = ARENA_NEW(&r->arena, struct register_node_request, 1);
    struct catalog_member member;
    wire_init(&wire_register_node_request, q);
    q->node_id = (int32_t)number_value(w, "node", 0);
    q->incarnation = (struct uuid){{(uint8_t)q->node_id}};
    if (value_of(w, "folder") == NULL && catalog_next_member(g->world.set, q->node_id - 1, &member) && member.node_id == q->node_id) {
        q->incarnation = member.incarnation;
    }
    q->host = STR("h");
    q->port = 9092;
    q->peer_address = own(r, str_value(w, "at", arena_printf(&r->arena, "h%d:9093", q->node_id).ptr));
    q->feature_level = (int16_t)number_value(w, "level", 1);
    r->op.request = q;
    world_submit(&g->world, r);
}

void command_upgrade(struct golden *g, const struct words *w)
{
    struct world_request *r = member_request(w, CATALOG_UPGRADE, &wire_upgrade_cluster_response);
    struct upgrade_cluster_request *q = ARENA_NEW(&r->arena, struct upgrade_cluster_request, 1);
    wire_init(&wire_upgrade_cluster_request, q);
    q->level = (int16_t)number_value(w, "level", -1);
    q->validate_only = number_value(w, "validate", 0) != 0;
    r->op.release = STR("9.1");
    r->op.request = q;
    world_submit(&g->world, r);
}
