/* catalog.c: the commands of the catalogue. */
#include "words.h"

#include <stdlib.h>
#include <string.h>

static struct world_request *catalog_request(const struct words *w, enum group_op_kind kind, const struct wire_msg *answer, int16_t version)
{
    struct world_request *r = request_new(w, kind, answer, version);
    r->op.group_id = STR_NULL;
    return r;
}

/* Topics as name:partitions:replicas. */
void command_create_topics(struct golden *g, const struct words *w)
{
    struct world_request *r = catalog_request(w, CATALOG_CREATE_TOPICS, &wire_create_topics_response, 4);
    struct create_topics_request *q = ARENA_NEW(&r->arena, struct create_topics_request, 1);
    q->validate_only = number_value(w, "validate", 0) != 0;
    q->topics.v = ARENA_NEW(&r->arena, struct create_topics_request_creatable_topic, w->count);
    for (int i = 1; i < w->count; i++) {
        char *rest = expand_ids(&r->arena, w->word[i]);
        if (strchr(rest, ':') != NULL) {
            struct create_topics_request_creatable_topic *t = &q->topics.v[q->topics.len++];
            t->name = str_of(next_part(&rest, ":"));
            t->num_partitions = (int32_t)strtol(next_part(&rest, ":"), NULL, 10);
            t->replication_factor = (int16_t)strtol(rest != NULL ? rest : "-1", NULL, 10);
        }
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

/* Topics as name:count. */
void command_create_partitions(struct golden *g, const struct words *w)
{
    struct world_request *r = catalog_request(w, CATALOG_CREATE_PARTITIONS, &wire_create_partitions_response, 3);
    struct create_partitions_request *q = ARENA_NEW(&r->arena, struct create_partitions_request, 1);
    q->topics.v = ARENA_NEW(&r->arena, struct create_partitions_request_topic, w->count);
    for (int i = 1; i < w->count; i++) {
        char *name = expand_ids(&r->arena, w->word[i]);
        struct create_partitions_request_topic *t = &q->topics.v[q->topics.len++];
        t->count = (int32_t)strtol(cut_name(name), NULL, 10);
        t->name = str_of(name);
        t->assignments.len = -1;
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

void command_delete_topics(struct golden *g, const struct words *w)
{
    struct world_request *r = catalog_request(w, CATALOG_DELETE_TOPICS, &wire_delete_topics_response, 5);
    struct delete_topics_request *q = ARENA_NEW(&r->arena, struct delete_topics_request, 1);
    q->topic_names.v = ARENA_NEW(&r->arena, struct str, w->count);
    for (int i = 1; i < w->count; i++) {
        q->topic_names.v[q->topic_names.len++] = own(r, str_of(w->word[i]));
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

/* resource=2/orders, then changes: key=value sets, key+value appends, key-value subtracts, key alone deletes. A key has dots, a value none of =+-. */
void command_alter_configs(struct golden *g, const struct words *w)
{
    static const char signs[] = "= +-";
    struct world_request *r = catalog_request(w, CATALOG_ALTER_CONFIGS, &wire_incremental_alter_configs_response, 1);
    struct incremental_alter_configs_request *q = ARENA_NEW(&r->arena, struct incremental_alter_configs_request, 1);
    struct incremental_alter_configs_request_alter_configs_resource *to =
        ARENA_NEW(&r->arena, struct incremental_alter_configs_request_alter_configs_resource, 1);
    char *name = expand_ids(&r->arena, value_of(w, "resource") != NULL ? value_of(w, "resource") : "4/");
    to->resource_type = (int8_t)strtol(name, &name, 10);
    to->resource_name = str_of(name + 1);
    to->configs.v = ARENA_NEW(&r->arena, struct incremental_alter_configs_request_alterable_config, w->count);
    for (int i = 1; i < w->count; i++) {
        char *key = expand_ids(&r->arena, w->word[i]);
        size_t len = strcspn(key, "=+-");
        if (strncmp(key, "resource=", 9) == 0) {
            continue;
        }
        struct incremental_alter_configs_request_alterable_config *c = &to->configs.v[to->configs.len++];
        c->config_operation = key[len] == '\0' ? 1 : (int8_t)(strchr(signs, key[len]) - signs);
        c->value = key[len] == '\0' ? STR_NULL : str_of(key + len + 1);
        c->name = (struct str){key, (int32_t)len};
    }
    q->resources.v = to;
    q->resources.len = 1;
    r->op.request = q;
    world_submit(&g->world, r);
}

void command_producer_id(struct golden *g, const struct words *w)
{
    struct world_request *r = catalog_request(w, CATALOG_PRODUCER_ID, &wire_init_producer_id_response, 5);
    struct init_producer_id_request *q = ARENA_NEW(&r->arena, struct init_producer_id_request, 1);
    wire_init(&wire_init_producer_id_request, q);
    q->transactional_id = own(r, str_value(w, "transactional", NULL));
    r->op.request = q;
    world_submit(&g->world, r);
}
