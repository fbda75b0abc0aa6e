/* What a backup has to be, by its bytes alone: each shard's part makes the state that it is said to be; the offsets are such as could have been read when it was asked
 * for; what groups go by is in the catalogue. */
#include <stdio.h>
#include <string.h>

#include <muster/messages.h>

#include "backups.h"

struct looking {
    struct sim *sim;
    const struct backup_section *sections;
    uint32_t shard;
    struct arena arena;                             /* of one record */
    const struct topics *topics;                    /* of the backup */
    int64_t offsets[SIM_REGISTERS][SIM_PARTITIONS]; /* -1: there is none */
};

static void register_name(uint32_t group, char name[SIM_ID_MAX], char topic[SIM_ID_MAX])
{
    if (group < SIM_GROUPS_MAX) {
        snprintf(name, SIM_ID_MAX, "group-%u", group);
        snprintf(topic, SIM_ID_MAX, "%s", SIM_TOPIC);
    } else {
        snprintf(name, SIM_ID_MAX, "consumer-%u", group - SIM_GROUPS_MAX);
        (void)consumer_topic(group - SIM_GROUPS_MAX, 0, topic);
    }
}

static uint32_t shard_of(struct str group_id)
{
    return (uint32_t)(hash_bytes(group_id.ptr, (size_t)group_id.len, 0) % SIM_SHARDS);
}

static void see_offset(struct looking *l, const struct offset_commit_key *key, const struct offset_commit_value *value)
{
    for (uint32_t group = 0; group < SIM_REGISTERS; group++) {
        char name[SIM_ID_MAX], topic[SIM_ID_MAX];
        register_name(group, name, topic);
        if (!str_eq(str_of(name), key->group) || !str_eq(str_of(topic), key->topic) || key->partition < 0 ||
            key->partition >= SIM_PARTITIONS)
            continue;
        if (shard_of(key->group) != l->shard || l->offsets[group][key->partition] >= 0)
            sim_fail(l->sim, "backup: shard %u has the offset of group %s partition %d, which is another's or there already", l->shard,
                     name, key->partition);
        l->offsets[group][key->partition] = value->offset;
        return;
    }
    sim_fail(l->sim, "backup: shard %u: nobody committed an offset of group %.*s topic %.*s partition %d", l->shard, STR_ARG(key->group),
             STR_ARG(key->topic), key->partition);
}

static void see_topic(struct looking *l, struct uuid id, struct str group_id)
{
    struct topic_view view;
    if (!l->topics->by_id(l->topics->ctx, id, &view) && !l->topics->was_deleted(l->topics->ctx, id))
        sim_fail(l->sim, "backup: shard %u: group %.*s has partitions of a topic that the catalogue does not know", l->shard,
                 STR_ARG(group_id));
}

static void see_record(struct looking *l, struct record record)
{
    struct wire_decoded_record decoded;
    uint16_t type = get_be16(record.key.ptr);
    bool offset = type == RECORD_OFFSET_COMMIT, target = type == RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
         current = type == RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT;
    if (!offset && !target && !current)
        return;
    arena_clear(&l->arena);
    if (wire_record_decode(record, &l->arena, &decoded) != 0 || decoded.value == NULL) {
        sim_fail(l->sim, "backup: shard %u: a record of type %u does not decode", l->shard, type);
    } else if (offset) {
        see_offset(l, decoded.key, decoded.value);
    } else if (target) {
        const struct consumer_group_target_assignment_member_key *key = decoded.key;
        const struct consumer_group_target_assignment_member_value *value = decoded.value;
        for (int32_t i = 0; i < value->topic_partitions.len; i++)
            see_topic(l, value->topic_partitions.v[i].topic_id, key->group_id);
    } else {
        const struct consumer_group_current_member_assignment_key *key = decoded.key;
        const struct consumer_group_current_member_assignment_value *value = decoded.value;
        for (int32_t i = 0; i < value->assigned_partitions.len; i++)
            see_topic(l, value->assigned_partitions.v[i].topic_id, key->group_id);
    }
}

static bool read_bytes(struct bytes *in, struct bytes *ret)
{
    int32_t len = in->len >= 4 ? (int32_t)get_be32(in->ptr) : -1;
    if (len < 0 || len > in->len - 4)
        return false;
    *ret = (struct bytes){in->ptr + 4, len};
    *in = (struct bytes){in->ptr + 4 + len, in->len - 4 - len};
    return true;
}

static void see_records(struct looking *l)
{
    const struct buf *data = &l->sections[l->shard].data;
    struct bytes in = {data->ptr, (int32_t)data->len};
    struct record record;
    while (in.len > 0 && !l->sim->failed) {
        if (!read_bytes(&in, &record.key) || !read_bytes(&in, &record.value) || record.key.len < 2)
            sim_fail(l->sim, "backup: shard %u is no list of records", l->shard);
        else
            see_record(l, record);
    }
}

static struct group_set *restore(struct sim *sim, struct pool *pool, uint32_t shard, const struct backup_section *s)
{
    struct group_set *set = group_set_new(pool, shard);
    struct arena scratch;
    arena_init(&scratch, 0);
    if (group_restore(set, (struct bytes){s->data.ptr, (int32_t)s->data.len}, &scratch) != 0)
        sim_fail(sim, "backup: shard %u cannot be restored", shard);
    else if (group_set_hash(set) != s->state_hash)
        sim_fail(sim, "backup: shard %u is another state when it is restored", shard);
    else if (group_set_cursor(set) != s->catalog_index)
        sim_fail(sim, "backup: shard %u has acted on entry %lld of shard 0, and not on entry %lld", shard, (long long)group_set_cursor(set),
                 (long long)s->catalog_index);
    arena_fini(&scratch);
    return set;
}

static void check_offsets(struct looking *l)
{
    for (uint32_t group = 0; group < SIM_REGISTERS; group++) {
        char name[SIM_ID_MAX], topic[SIM_ID_MAX];
        register_name(group, name, topic);
        const struct backup_section *s = &l->sections[shard_of(str_of(name))];
        for (int32_t partition = 0; partition < SIM_PARTITIONS; partition++)
            check_saved(l->sim, group, partition, l->offsets[group][partition], s->asked_us);
    }
}

void backup_check(struct sim *sim, const struct backup_section sections[SIM_SHARDS])
{
    struct looking l = {.sim = sim, .sections = sections};
    struct pool pool = {0};
    struct topics topics;
    struct group_set *catalog = restore(sim, &pool, 0, &sections[0]);
    catalog_topics(catalog, &topics);
    l.topics = &topics;
    arena_init(&l.arena, 0);
    memset(l.offsets, -1, sizeof(l.offsets));
    for (l.shard = 0; l.shard < SIM_SHARDS && !sim->failed; l.shard++) {
        if (l.shard > 0)
            group_set_free(restore(sim, &pool, l.shard, &sections[l.shard]));
        if (sections[l.shard].catalog_index > (int64_t)sections[0].index)
            sim_fail(sim, "backup: shard %u has acted on entry %lld of shard 0, which is saved up to entry %llu", l.shard,
                     (long long)sections[l.shard].catalog_index, (unsigned long long)sections[0].index);
        see_records(&l);
    }
    if (!sim->failed)
        check_offsets(&l);
    arena_fini(&l.arena);
    group_set_free(catalog);
}
