/* log_live.c: the log of a live node, by requests of our own (LogRead). */
#include "client.h"
#include "group_view.h"
#include "log.h"

#include <inttypes.h>
#include <time.h>

enum { FOLLOW_MS = 200, READ_BYTES = 4 << 20 };

struct live {
    struct cli *cli;
    struct client client;
    struct client_node *node;
    struct log_printer printer;
    struct arena arena; /* of one answer */
    int64_t *next;      /* by shard: the index to ask for */
    int64_t *ends;      /* what was committed when it was asked first */
    int32_t shard_count;
    bool more; /* the last answers brought something */
};

/* The first node that answers; from then on only it is asked. */
static int choose_node(struct live *live)
{
    struct cluster_status_request request;
    const void *answer;
    wire_init(&wire_cluster_status_request, &request);
    struct client_call call = {.key = API_KEY_CLUSTER_STATUS, .max_version = -1, .request = &request};
    int rc = client_any_call(&live->client, &call, &live->arena, &answer, &live->node);
    if (rc == 0) {
        const struct cluster_status_response *status = answer;
        live->shard_count = status->shards.len;
        live->next = ARENA_NEW(&live->cli->arena, int64_t, live->shard_count);
        live->ends = ARENA_NEW(&live->cli->arena, int64_t, live->shard_count);
        for (int32_t i = 0; i < live->shard_count; i++) {
            live->ends[i] = status->shards.v[i].commit_index;
        }
    }
    return rc;
}

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

static int read_some(struct live *live, int32_t shard, bool first_time, const struct log_read_response **ret)
{
    struct log_read_request request;
    const void *answer;
    wire_init(&wire_log_read_request, &request);
    request.shard = shard;
    request.from_index = live->next[shard];
    request.max_bytes = READ_BYTES;
    request.group_id = live->printer.filter.group;
    struct client_call call = {.key = API_KEY_LOG_READ, .max_version = -1, .request = &request};
    int rc = client_node_call(&live->client, live->node, &call, &live->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(live->cli, &live->client, rc);
    }
    const struct log_read_response *response = answer;
    if (response->error_code != 0) {
        return cli_fail(live->cli, CLI_FAILED, "shard %d: %s", shard,
                        kafka_error_text(response->error_code, response->error_message, &live->cli->arena));
    }
    if (first_time) {
        live->printer.cut = live->printer.cut || response->first_index > 1;
        say_missing(live, shard, response->first_index);
    }
    *ret = response;
    return CLI_OK;
}

/* What there is of a shard, to its committed end. */
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
        live->next[shard] = again ? response->last_index + 1 : live->next[shard];
        live->more = live->more || again;
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
        if (!follow || fflush(live->cli->out) != 0) {
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
    int rc = choose_node(&live);
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
    code = log_printer_judge(&live.printer, code);
    log_printer_fini(&live.printer);
    arena_fini(&live.arena);
    client_fini(&live.client);
    return code;
}
