#include "kafka_offsets.h"

#include "client.h"
#include "group_view.h"
#include "kafka_batch.h"
#include "out.h"
#include "progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_LEAST = 100000, /* records between two sweeps of what is no longer live */
    FETCH_BYTES = 8 << 20,
    FETCH_WAIT_MS = 500,
    BATCH_RECORDS = 500,
    VALUE_VERSION = 4,
    MARKER_COMMIT = 1
};

struct pending {
    int64_t producer_id;
    struct saved_offset offset;
};
struct kafka_offsets {
    struct arena arena;        /* what seen and pending point to */
    struct saved_offsets seen; /* offset -1: deleted */
    int settled;               /* how many there were after the last sweep */
    struct pending *pending;
    int pending_count, pending_cap;
    /* The batch that is being read. */
    struct arena scratch;
    const struct kafka_batch *batch;
    int unreadable;
};

struct kafka_offsets *kafka_offsets_new(void)
{
    struct kafka_offsets *k = calloc(1, sizeof(*k));
    MUSTER_CHECK(k != NULL);
    arena_init(&k->arena, 0);
    arena_init(&k->scratch, 0);
    return k;
}

void kafka_offsets_free(struct kafka_offsets *k)
{
    arena_fini(&k->arena);
    arena_fini(&k->scratch);
    free(k->pending);
    free(k);
}

/* ---- records ------------------------------------------------------------------------------------------------------------------- */

static struct saved_offset copied(const struct saved_offset *o, struct arena *arena)
{
    struct saved_offset copy = *o;
    copy.group = arena_str(arena, o->group);
    copy.topic = arena_str(arena, o->topic);
    copy.metadata = arena_str(arena, o->metadata);
    return copy;
}

/* Drops what later records have replaced, with its memory. */
static void sweep(struct kafka_offsets *k)
{
    struct arena fresh;
    struct saved_offsets live = {0};
    arena_init(&fresh, 0);
    saved_settle(&k->seen);
    for (int i = 0; i < k->seen.count; i++) {
        struct saved_offset copy = copied(&k->seen.v[i], &fresh);
        saved_add(&live, &copy, &fresh);
    }
    for (int i = 0; i < k->pending_count; i++) {
        k->pending[i].offset = copied(&k->pending[i].offset, &fresh);
    }
    arena_fini(&k->arena);
    k->arena = fresh;
    k->seen = live;
    k->settled = live.count;
}

static void take_offset(struct kafka_offsets *k, const struct saved_offset *borrowed)
{
    struct saved_offset own = copied(borrowed, &k->arena);
    if (!k->batch->transactional) {
        saved_add(&k->seen, &own, &k->arena);
        return;
    }
    if (k->pending_count == k->pending_cap) {
        k->pending_cap = k->pending_cap > 0 ? k->pending_cap * 2 : 64;
        k->pending = realloc(k->pending, (size_t)k->pending_cap * sizeof(*k->pending));
        MUSTER_CHECK(k->pending != NULL);
    }
    k->pending[k->pending_count++] = (struct pending){k->batch->producer_id, own};
}

/* The end of a producer's transaction: what it committed counts, or never was. */
static void take_marker(struct kafka_offsets *k, struct bytes key)
{
    int kept = 0;
    if (key.len < 4) {
        k->unreadable++;
        return;
    }
    bool committed = get_be16(key.ptr + 2) == MARKER_COMMIT;
    for (int i = 0; i < k->pending_count; i++) {
        if (k->pending[i].producer_id != k->batch->producer_id) {
            k->pending[kept++] = k->pending[i];
        } else if (committed) {
            saved_add(&k->seen, &k->pending[i].offset, &k->arena);
        }
    }
    k->pending_count = kept;
}

/* Records of other types, which say who is in the groups, are nothing that could be taken along: members join by themselves. */
static void take_record(void *ctx, const struct kafka_record *record)
{
    struct kafka_offsets *k = ctx;
    struct wire_decoded_record decoded;
    if (k->batch->control) {
        take_marker(k, record->key);
        return;
    }
    int16_t type = record->key.len >= 2 ? (int16_t)get_be16(record->key.ptr) : -1;
    if (type != RECORD_OFFSET_COMMIT && type != RECORD_LEGACY_OFFSET_COMMIT) {
        k->unreadable += type < 0;
        return;
    }
    if (record->key.len > 2 && type == RECORD_LEGACY_OFFSET_COMMIT) {
        /* The key is the same, and the value's form has a number of its own. */
        uint8_t *key = arena_get(&k->scratch, (size_t)record->key.len);
        memcpy(key, record->key.ptr, (size_t)record->key.len);
        put_be16(key, RECORD_OFFSET_COMMIT);
        return take_record(ctx, &(struct kafka_record){{key, record->key.len}, record->value});
    }
    if (wire_record_decode((struct record){record->key, record->value}, &k->scratch, &decoded) < 0) {
        k->unreadable++;
        return;
    }
    const struct offset_commit_key *key = decoded.key;
    const struct offset_commit_value *value = decoded.value;
    take_offset(k, &(struct saved_offset){.group = key->group,
                                          .topic = key->topic,
                                          .partition = key->partition,
                                          .offset = value == NULL ? -1 : value->offset,
                                          .leader_epoch = value == NULL ? -1 : value->leader_epoch,
                                          .metadata = value == NULL ? STR_NULL : value->metadata});
}

static int take_batch(struct kafka_offsets *k, const struct kafka_batch *batch)
{
    k->batch = batch;
    arena_clear(&k->scratch);
    int rc = kafka_batch_each(batch, &k->scratch, take_record, k);
    if (k->seen.count > 2 * k->settled + SETTLE_LEAST) {
        sweep(k);
    }
    return rc;
}

void kafka_offsets_take(struct kafka_offsets *k, struct arena *arena, struct saved_offsets *ret)
{
    *ret = (struct saved_offsets){0};
    saved_settle(&k->seen);
    for (int i = 0; i < k->seen.count; i++) {
        if (k->seen.v[i].offset >= 0) {
            struct saved_offset copy = copied(&k->seen.v[i], arena);
            saved_add(ret, &copy, arena);
        }
    }
}

static int say_batch_error(struct cli *cli, const char *where, int64_t offset, int rc, int codec)
{
    static const char *const codecs[] = {"no", "gzip", "snappy", "lz4", "zstd"};
    if (rc == MUSTER_E_VERSION && codec > 0 && codec < (int)COUNT_OF(codecs)) {
        return cli_fail(cli, CLI_FAILED, "%s: the batch at offset %" PRId64 " is compressed with %s; none and lz4 can be read", where,
                        offset, codecs[codec]);
    }
    return cli_fail(cli, CLI_CORRUPT, "%s: the batch %s offset %" PRId64 " cannot be read: %s", where, codec < 0 ? "behind" : "at", offset,
                    muster_strerror(rc));
}

static void say_unreadable(struct cli *cli, struct kafka_offsets *k, const char *where)
{
    if (k->unreadable > 0) {
        cli_say(cli, "%s: %d record%s of a form that this program does not know", where, k->unreadable, k->unreadable == 1 ? "" : "s");
        k->unreadable = 0;
    }
}

/* ---- segment files --------------------------------------------------------------------------------------------------------------- */

int kafka_offsets_parse_segment(struct cli *cli, struct kafka_offsets *k, const char *name, struct bytes data)
{
    struct bytes rest = data;
    int64_t last = -1;
    while (rest.len > 0) {
        struct kafka_batch batch;
        int rc = kafka_batch_next(&rest, &batch);
        if (rc == MUSTER_E_TRUNCATED) {
            cli_say(cli, "%s: ends in %d bytes that are no whole batch, behind offset %" PRId64, name, (int)rest.len, last);
            break;
        }
        if (rc < 0) {
            return say_batch_error(cli, name, last, rc, -1);
        }
        rc = take_batch(k, &batch);
        if (rc < 0) {
            return say_batch_error(cli, name, batch.base_offset, rc, batch.codec);
        }
        last = batch.last_offset;
    }
    say_unreadable(cli, k, name);
    return CLI_OK;
}

int kafka_offsets_read_segment(struct cli *cli, struct kafka_offsets *k, const char *path)
{
    struct bytes data;
    int code = file_read(cli, path, &data);
    return code == CLI_OK ? kafka_offsets_parse_segment(cli, k, path, data) : code;
}

/* ---- a running cluster -------------------------------------------------------------------------------------------------------------- */

struct reader {
    struct cli *cli;
    struct client client;
    struct kafka_offsets *k;
    struct str topic;
    struct uuid topic_id;
    int32_t partition;
    int64_t next, end;
};

/* One answer's batches. What stands before the offset asked for comes along, as batches are not split. */
static int take_answer(struct reader *r, struct bytes rest)
{
    int64_t before = r->next;
    while (rest.len > 0) {
        struct kafka_batch batch;
        int rc = kafka_batch_next(&rest, &batch);
        if (rc == MUSTER_E_TRUNCATED) {
            break;
        }
        if (rc < 0) {
            return say_batch_error(r->cli, "__consumer_offsets", r->next, rc, -1);
        }
        if (batch.last_offset < r->next) {
            continue;
        }
        rc = take_batch(r->k, &batch);
        if (rc < 0) {
            return say_batch_error(r->cli, "__consumer_offsets", batch.base_offset, rc, batch.codec);
        }
        r->next = batch.last_offset + 1;
    }
    /* A compacted partition may have nothing left before its end. */
    if (r->next == before) {
        r->next = r->end;
    }
    return CLI_OK;
}

static int fetch_once(struct reader *r, struct client_node *leader, struct arena *arena)
{
    struct fetch_request request;
    struct fetch_request_partition partition;
    struct fetch_request_topic topic = {.topic = r->topic, .topic_id = r->topic_id, .partitions = {&partition, 1}};
    const void *answer;
    wire_init(&wire_fetch_request, &request);
    wire_init_type(wire_fetch_request.type->fields[9].type->fields[2].type, &partition);
    partition.partition = r->partition;
    partition.fetch_offset = r->next;
    partition.partition_max_bytes = FETCH_BYTES;
    request.max_wait_ms = FETCH_WAIT_MS;
    request.min_bytes = 1;
    request.max_bytes = FETCH_BYTES;
    request.topics.v = &topic;
    request.topics.len = 1;
    struct client_call call = {.key = API_KEY_FETCH, .min_version = 4, .max_version = -1, .request = &request};
    int rc = client_node_call(&r->client, leader, &call, arena, &answer);
    if (rc < 0) {
        return cli_client_failed(r->cli, &r->client, rc);
    }
    const struct fetch_response *response = answer;
    bool whole = response->responses.len == 1 && response->responses.v[0].partitions.len == 1;
    int16_t error = response->error_code != 0 ? response->error_code : whole ? response->responses.v[0].partitions.v[0].error_code : 0;
    if (error != 0) {
        return cli_fail(r->cli, CLI_FAILED, "__consumer_offsets-%d: %s", (int)r->partition, kafka_error_text(error, STR_NULL, arena));
    }
    return take_answer(r, whole ? response->responses.v[0].partitions.v[0].records : BYTES_NULL);
}

static int read_partition(struct reader *r, int64_t begin, int64_t end, int32_t leader_id)
{
    struct client_node *leader = client_node_by_id(&r->client, leader_id);
    struct arena arena;
    int code = CLI_OK;
    if (begin < 0 || end < 0 || leader == NULL) {
        return cli_fail(r->cli, CLI_FAILED, "__consumer_offsets-%d: has no leader now; try again", (int)r->partition);
    }
    arena_init(&arena, 0);
    for (r->next = begin, r->end = end; code == CLI_OK && r->next < r->end;) {
        arena_clear(&arena);
        r->client.deadline_ms = client_now_ms() + r->cli->timeout_ms; /* for each answer: a long topic may take long */
        code = fetch_once(r, leader, &arena);
    }
    arena_fini(&arena);
    /* Transactions that are open at the end are not this cluster's business any more. */
    r->k->pending_count = 0;
    return code;
}

static int read_topic(struct reader *r)
{
    struct arena *arena = &r->cli->arena;
    const struct metadata_response *metadata;
    struct offsets_view places = {0};
    int rc = client_metadata(&r->client, &r->topic, 1, arena, &metadata);
    if (rc < 0) {
        return cli_client_failed(r->cli, &r->client, rc);
    }
    if (metadata->topics.len != 1 || metadata->topics.v[0].error_code != 0) {
        return cli_fail(r->cli, CLI_FAILED,
                        "the cluster has no topic __consumer_offsets: no group has ever committed there, or it is no Apache Kafka");
    }
    const struct metadata_response_topic topic = metadata->topics.v[0];
    r->topic_id = topic.topic_id;
    for (int32_t i = 0; i < topic.partitions.len; i++) {
        offsets_view_add(&places, r->topic, topic.partitions.v[i].partition_index, arena);
    }
    int64_t *begin = ARENA_NEW(arena, int64_t, places.count);
    int64_t *end = ARENA_NEW(arena, int64_t, places.count);
    rc = offsets_view_list(&r->client, &places, LIST_EARLIEST, arena, begin);
    rc = rc == 0 ? offsets_view_list(&r->client, &places, LIST_LATEST, arena, end) : rc;
    if (rc < 0) {
        return cli_client_failed(r->cli, &r->client, rc);
    }
    int code = CLI_OK;
    for (int i = 0; i < places.count && code == CLI_OK; i++) {
        const struct metadata_response_partition *p = client_partition(&topic, places.v[i].partition);
        r->partition = places.v[i].partition;
        progress(r->cli, "reading __consumer_offsets", i, places.count);
        code = read_partition(r, begin[i], end[i], p != NULL ? p->leader_id : -1);
    }
    progress_end(r->cli);
    return code;
}

int kafka_offsets_read_cluster(struct cli *cli, struct kafka_offsets *k, const char *bootstrap)
{
    struct reader r = {.cli = cli, .k = k, .topic = STR("__consumer_offsets")};
    if (client_init(&r.client, bootstrap, cli->timeout_ms) < 0) {
        return cli_fail(cli, CLI_USAGE, "%s", r.client.error);
    }
    int code = read_topic(&r);
    say_unreadable(cli, k, "__consumer_offsets");
    client_fini(&r.client);
    return code;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------------- */

void kafka_offsets_write(const struct saved_offsets *offsets, int64_t now_ms, struct buf *to)
{
    struct arena arena;
    arena_init(&arena, 0);
    for (int begin = 0; begin < offsets->count; begin += BATCH_RECORDS) {
        int count = offsets->count - begin < BATCH_RECORDS ? offsets->count - begin : BATCH_RECORDS;
        struct record *records = ARENA_NEW(&arena, struct record, count);
        for (int i = 0; i < count; i++) {
            const struct saved_offset *o = &offsets->v[begin + i];
            struct offset_commit_key key = {.group = o->group, .topic = o->topic, .partition = o->partition};
            struct offset_commit_value value;
            wire_init(&wire_offset_commit_value, &value);
            value.offset = o->offset;
            value.leader_epoch = o->leader_epoch;
            value.metadata = o->metadata.len > 0 ? o->metadata : STR("");
            value.commit_timestamp = now_ms;
            records[i] = wire_record_encode(RECORD_OFFSET_COMMIT, &key, VALUE_VERSION - 1, &value, &arena);
        }
        kafka_batch_write(to, begin, now_ms, records, count);
        arena_clear(&arena);
    }
    arena_fini(&arena);
}
