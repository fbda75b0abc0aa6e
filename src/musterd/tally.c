#include "tally.h"

/* Numbers of the records' types (src/wire/schema). */
enum { OFFSET_COMMIT = 1, CONSUMER_GROUP_METADATA = 3, STREAMS_GROUP_METADATA = 17, CLASSIC_GROUP = 0x4000 };

static void count_offset(struct tally *t, enum group_op_kind kind, bool tombstone)
{
    if (!tombstone) {
        t->offsets_committed++;
    } else if (kind == GROUP_RETENTION) {
        t->offsets_expired++;
    } else {
        t->offsets_deleted++;
    }
}

void tally_decided(struct tally *t, const struct group_op *op, const struct group_out *out)
{
    for (size_t i = 0; i < out->records.len; i++) {
        const struct record *record = &out->records.v[i];
        int type = record->key.len >= 2 ? get_be16(record->key.ptr) : -1;
        bool tombstone = record->value.len < 0;
        if (type == OFFSET_COMMIT) {
            count_offset(t, op->kind, tombstone);
        } else if (type == CLASSIC_GROUP && op->kind == GROUP_SYNC) {
            t->classic_rebalances++;
        } else if (type == CONSUMER_GROUP_METADATA && !tombstone) {
            t->consumer_rebalances++;
        } else if (type == STREAMS_GROUP_METADATA && !tombstone) {
            t->streams_rebalances++;
        }
    }
}

void tally_leader(struct tally *t, uint32_t shard, uint32_t leader)
{
    if (shard < TALLY_SHARDS && leader != 0 && t->leader[shard] != leader) {
        t->leader_changes[shard]++;
        t->leader[shard] = leader;
    }
}
