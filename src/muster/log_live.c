/* log_live.c: the log of a live node, by requests of our own (LogRead). */
#include "client.h"
#include "group_view.h"
#include "log.h"

#include <inttypes.h>
#include <time.h>

enum { FOLLOW_MS = 200, CATCH_UP_MS = 20, WAIT_MS = 5000, LEADERS_MAX = 16, READ_BYTES = 4 << 20 };

struct live {
    struct cli *cli;
    struct client client;
    struct client_node *node;
    struct log_printer printer;
    struct arena arena; /* of one answer */
    int64_t *next;      /* by shard: the index to ask for */
    int64_t *ends;      /* what was committed when it was asked first */
    int64_t *led,
        *led_in;      /* the newest entry of the shard's leader then, and its term: what clients were told is not behind it. 0: not known */
    int64_t until_ms; /* so long the node may take to have that */
    int32_t shard_count;
    bool more; /* the last answers brought something */
};

/* ---- where the log ends ---- */

/* A node that follows hears late what is committed. Whatever a client was told is in the log of the shard's leader: of what nodes say of themselves the newest term counts. */
static void note_leaders(struct live *live, const struct cluster_status_response *status)
{
    for (int32_t i = 0; i < status->shards.len && i < live->shard_count; i++) {
        const struct cluster_status_response_shard_status *s = &status->shards.v[i];
        if (s->role == 2 && s->term > live->led_in[i]) {
            live->led[i] = s->last_index;
            live->led_in[i] = s->term;
        }
    }
}

/* Puts the leaders that the answer names behind those that were or will be asked. */
static int add_leaders(const struct live *live, const struct cluster_status_response *status, int32_t *nodes, int count)
{
    for (int32_t i = 0; i < status->shards.len; i++) {
        const struct cluster_status_response_shard_status *s = &status->shards.v[i];
        bool known = s->leader < 0 || (live->printer.filter.shard >= 0 && live->printer.filter.shard != s->shard);
        for (int k = 0; k < count; k++) {
            known = known || nodes[k] == s->leader;
        }
        if (!known && count < LEADERS_MAX) {
            nodes[count++] = s->leader;
        }
    }
    return count;
}

/* One that does not answer is left out: what it leads cannot be waited for. */
static void ask_leaders(struct live *live, const struct cluster_status_response *first)
{
    int32_t nodes[LEADERS_MAX] = {first->node_id};
    struct arena arena;
    const struct metadata_response *metadata;
    struct cluster_status_request request;
    wire_init(&wire_cluster_status_request, &request);
    struct client_call call = {.key = API_KEY_CLUSTER_STATUS, .max_version = -1, .request = &request};
    arena_init(&arena, 0);
    note_leaders(live, first);
    int count = add_leaders(live, first, nodes, 1);
    if (count > 1 && client_metadata(&live->client, NULL, 0, &arena, &metadata) < 0) {
        count = 1;
    }
    for (int i = 1; i < count; i++) {
        const void *answer;
        struct client_node *node = client_node_by_id(&live->client, nodes[i]);
        live->client.deadline_ms = client_now_ms() + (live->cli->timeout_ms < WAIT_MS ? live->cli->timeout_ms : WAIT_MS);
        if (node != NULL && client_node_call(&live->client, node, &call, &arena, &answer) == 0) {
            note_leaders(live, answer);
            count = add_leaders(live, answer, nodes, count);
        }
    }
    arena_fini(&arena);
    live->until_ms = client_now_ms() + (live->cli->timeout_ms < WAIT_MS ? live->cli->timeout_ms : WAIT_MS);
}

/* Whether what comes is waited for: false when nothing is lacking, or it does not come, which is said. */
static bool wait_for_node(struct live *live, int32_t shard)
{
    int64_t last = live->led[shard] < live->printer.filter.to ? live->led[shard] : live->printer.filter.to;
    if (live->next[shard] > last) {
        return false;
    }
    if (client_now_ms() >= live->until_ms) {
        cli_say(live->cli, "shard %d: the node does not have what its leader has: entries %" PRId64 " to %" PRId64 " are not shown", shard,
                live->next[shard], last);
        return false;
    }
    struct timespec pause = {.tv_nsec = CATCH_UP_MS * 1000000L};
    nanosleep(&pause, NULL);
    return true;
}

/* The first node that answers; from then on only it is asked. */
static int choose_node(struct live *live, bool follow)
{
    struct cluster_status_request request;
    const void *answer;
    wire_init(&wire_cluster_status_request, &request);
    struct client_call call = {.key = API_KEY_CLUSTER_STATUS, .max_version = -1, .request = &request};
    int rc = client_any_call(&live->client, &call, &live->arena, &answer, &live->node);
    if (rc == 0) {
        const struct cluster_status_response *status = answer;
        struct arena *arena = &live->cli->arena;
        live->shard_count = status->shards.len;
        live->next = ARENA_NEW(arena, int64_t, live->shard_count);
        live->ends = ARENA_NEW(arena, int64_t, live->shard_count);
        live->led = ARENA_NEW(arena, int64_t, live->shard_count);
        live->led_in = ARENA_NEW(arena, int64_t, live->shard_count);
        for (int32_t i = 0; i < live->shard_count; i++) {
            live->ends[i] = status->shards.v[i].commit_index;
        }
        if (!follow) {
            ask_leaders(live, status);
        }
    }
    return rc;
}

/* ---- reading ---- */

/* The topic's present id; those of its earlier lives are learnt from the log, as far as it reaches. */
static void learn_topic(struct live *live)
{
    struct str topic = live->printer.filter.topic;
    const struct metadata_response *metadata;
    if (str_is_empty(topic) || client_metadata(&live->client, &topic, 1, &live->arena, &metadata) < 0) {
        return;
    }
    for (int32_t i = 0; i < metadata->topics.len; i++) {
        if (metadata->topics.v[i].error_code == 0) {
            log_topic_ids_add(&live->printer.topic_ids, metadata->topics.v[i].topic_id);
        }
    }
}

static void say_missing(struct live *live, int32_t shard, int64_t first)
{
    const struct log_filter *filter = &live->printer.filter;
    if (live->next[shard] < first && first > 1 && filter->from < first) {
        cli_say(live->cli, "shard %d: entries before %" PRId64 " are no longer in the node's memory (--disk reads its log files)", shard,
                first);
    }
}

int log_live_read(struct client *client, struct client_node *node, const struct log_live_place *place, struct arena *arena,
                  const struct log_read_response **ret)
{
    struct log_read_request request;
    const void *answer;
    wire_init(&wire_log_read_request, &request);
    request.shard = place->shard;
    request.from_index = place->from;
    request.max_bytes = place->max_bytes;
    request.group_id = place->group;
    struct client_call call = {.key = API_KEY_LOG_READ, .max_version = -1, .request = &request};
    int rc = client_node_call(client, node, &call, arena, &answer);
    *ret = rc == 0 ? answer : NULL;
    return rc;
}

static int read_some(struct live *live, int32_t shard, bool first_time, const struct log_read_response **ret)
{
    const struct log_live_place place = {shard, live->next[shard], live->printer.filter.group, READ_BYTES};
    const struct log_read_response *response;
    int rc = log_live_read(&live->client, live->node, &place, &live->arena, &response);
    if (rc < 0) {
        return cli_client_failed(live->cli, &live->client, rc);
    }
    if (response->error_code != 0) {
        return cli_fail(live->cli, CLI_FAILED, "shard %d: %s", shard,
                        kafka_error_text(response->error_code, response->error_message, &live->cli->arena));
    }
    if (first_time) {
        live->printer.cut = live->printer.cut || response->first_index > 1;
        live->printer.in_memory = true;
        say_missing(live, shard, response->first_index);
    }
    *ret = response;
    return CLI_OK;
}

/* What there is of a shard, to its committed end; what its leader had when it was asked is waited for. */
static int read_shard(struct live *live, int32_t shard, bool first_time)
{
    const struct log_read_response *response = NULL;
    bool again = true;
    while (again && live->next[shard] <= live->printer.filter.to) {
        live->client.deadline_ms = client_now_ms() + live->cli->timeout_ms;
        arena_clear(&live->arena);
        int code = read_some(live, shard, first_time, &response);
        if (code != CLI_OK) {
            return code;
        }
        for (int32_t i = 0; i < response->entries.len; i++) {
            const struct log_read_response_entry *e = &response->entries.v[i];
            struct log_item item = {(uint32_t)shard, (uint64_t)e->index, (uint64_t)e->term, (uint8_t)e->kind, e->data, false};
            log_print_item(&live->printer, &item);
        }
        again = response->last_index >= live->next[shard];
        live->next[shard] = again                                       ? response->last_index + 1
                            : response->first_index > live->next[shard] ? response->first_index /* what is before is not in memory */
                                                                        : live->next[shard];
        live->more = live->more || again;
        again = again || wait_for_node(live, shard);
        first_time = false;
    }
    return CLI_OK;
}

static int read_shards(struct live *live, bool follow)
{
    const struct log_filter *filter = &live->printer.filter;
    for (int32_t shard = 0; shard < live->shard_count; shard++) {
        live->next[shard] = filter->from == LOG_FROM_END ? live->ends[shard] + 1 : filter->from > 1 ? filter->from : 1;
    }
    live->printer.filter.from = filter->from == LOG_FROM_END ? 0 : filter->from;
    for (bool first_time = true;; first_time = false) {
        live->more = false;
        for (int32_t shard = 0; shard < live->shard_count; shard++) {
            int code = filter->shard < 0 || filter->shard == shard ? read_shard(live, shard, first_time) : CLI_OK;
            if (code != CLI_OK) {
                return code;
            }
        }
        uint64_t last = filter->shard >= 0 ? (uint64_t)live->next[filter->shard] - 1 : 0;
        if (!follow || fflush(live->cli->out) != 0 || log_follow_is_over(filter, last)) {
            return CLI_OK;
        }
        if (!live->more) {
            struct timespec pause = {.tv_nsec = FOLLOW_MS * 1000000L};
            nanosleep(&pause, NULL);
        }
    }
}

int log_dump_live(struct cli *cli, const struct log_filter *filter, bool follow)
{
    struct live live = {.cli = cli};
    int code = cli_connect(cli, &live.client);
    if (code != CLI_OK) {
        return code;
    }
    arena_init(&live.arena, 0);
    log_printer_init(&live.printer, cli, filter);
    int rc = choose_node(&live, follow);
    if (rc < 0) {
        code = cli_client_failed(cli, &live.client, rc);
    } else if (filter->shard >= live.shard_count) {
        code = cli_fail(cli, CLI_FAILED, "there is no shard %" PRId64 ": the cluster has %d", filter->shard, live.shard_count);
    } else {
        learn_topic(&live);
        code = read_shards(&live, follow);
    }
    if (code == CLI_OK && live.printer.unreadable) {
        code = cli_fail(cli, CLI_CORRUPT, "the log holds entries that this program cannot read: the node is of a newer release");
    }
    code = follow ? code : log_printer_judge(&live.printer, code); /* whoever follows may well see nothing */
    log_printer_fini(&live.printer);
    arena_fini(&live.arena);
    client_fini(&live.client);
    return code;
}
