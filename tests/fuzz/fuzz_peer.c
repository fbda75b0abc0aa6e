/* What a peer may send, to a core of three nodes that is alive on an imagined disk: bytes as they come, and programs of well-formed messages whose
 * fields are small numbers, so that terms, indexes and shards meet. Whatever comes, the core neither crashes nor breaks an invariant; it may refuse,
 * or stop with a reason, since a peer that was let in is trusted not to lie about committed entries. */
#include "core.h"
#include "form.h"
#include "mem_port.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 2, STEPS_MAX = 200 };

struct world {
    struct replica *core;
    struct store *store;
    struct store_port port;
    const struct store_record *records;
    size_t record_count;
    struct core_job *jobs[64];
    size_t job_count;
    int64_t now_us;
    uint64_t applied[SHARDS];
    bool fatal;
};

struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t take_u8(struct input *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->at++;
}

static struct bytes take_bytes(struct input *in, size_t len)
{
    len = len < in->left ? len : in->left;
    struct bytes b = {in->at, (int32_t)len};
    in->at += len;
    in->left -= len;
    return b;
}

/* ---- the host and the owner ------------------------------------------------------------------------------------------------ */

static void host_persist(void *ctx, const struct store_record *records, size_t count)
{
    struct world *w = ctx;
    w->records = records;
    w->record_count = count;
}

static bool host_send(void *ctx, uint32_t node, enum core_class class, struct bytes data)
{
    static struct message_scratch scratch;
    struct message m;
    (void)ctx;
    (void)node;
    (void)class;
    MUSTER_CHECK(message_decode(data, &scratch, &m) == 0); /* what this core says, another one understands */
    return true;
}

static void host_job(void *ctx, struct core_job *job)
{
    struct world *w = ctx;
    MUSTER_CHECK(w->job_count < COUNT_OF(w->jobs));
    w->jobs[w->job_count++] = job;
}

static void host_trim(void *ctx, uint32_t shard, uint64_t index)
{
    (void)ctx;
    (void)shard;
    (void)index;
}

static void host_flush(void *ctx)
{
    (void)ctx;
}

static void on_role(void *ctx, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader)
{
    (void)ctx;
    (void)shard;
    (void)role;
    (void)term;
    (void)leader;
}

static void on_apply(void *ctx, uint32_t shard, uint64_t index, uint64_t term, struct bytes entry)
{
    struct world *w = ctx;
    (void)term;
    (void)entry;
    MUSTER_CHECK(index == w->applied[shard] + 1);
    w->applied[shard] = index;
}

static void on_confirmed(void *ctx, uint32_t shard, uint64_t term, uint64_t round)
{
    (void)ctx;
    (void)shard;
    (void)term;
    (void)round;
}

static void on_restore_begin(void *ctx, uint32_t shard, uint64_t index, uint64_t term)
{
    (void)ctx;
    (void)shard;
    (void)index;
    (void)term;
}

static int on_restore_data(void *ctx, uint32_t shard, struct bytes data)
{
    (void)ctx;
    (void)shard;
    (void)data;
    return 0;
}

static int on_restored(void *ctx, uint32_t shard, uint64_t index, uint64_t state_hash)
{
    struct world *w = ctx;
    (void)state_hash;
    w->applied[shard] = index;
    return 0;
}

static void on_snapshot_begin(void *ctx, uint32_t shard, uint64_t *ret_state_hash)
{
    (void)ctx;
    (void)shard;
    *ret_state_hash = 1;
}

static void on_snapshot_next(void *ctx, uint32_t shard, size_t budget, struct bytes *ret)
{
    (void)ctx;
    (void)shard;
    (void)budget;
    *ret = (struct bytes){NULL, 0};
}

static void on_snapshot_end(void *ctx, uint32_t shard)
{
    (void)ctx;
    (void)shard;
}

static uint64_t on_state_hash(void *ctx, uint32_t shard)
{
    struct world *w = ctx;
    return w->applied[shard];
}

static void on_message(void *ctx, uint32_t from, uint16_t channel, struct bytes data)
{
    (void)ctx;
    (void)from;
    (void)channel;
    (void)data;
}

static void on_peer(void *ctx, uint32_t node, bool connected)
{
    (void)ctx;
    (void)node;
    (void)connected;
}

static void on_fatal(void *ctx, const char *text)
{
    struct world *w = ctx;
    (void)text;
    w->fatal = true;
}

/* ---- programs ----------------------------------------------------------------------------------------------------------------- */

static void fill_append(struct input *in, struct raft_append_entries *a, const struct bytes *config)
{
    static struct raft_entry entries[8];
    static uint8_t payload[16];
    a->term = take_u8(in) % 8;
    a->prev_log_index = take_u8(in) % 16;
    a->prev_log_term = take_u8(in) % 8;
    a->leader_commit = take_u8(in) % 32;
    a->n_entries = take_u8(in) % 8;
    a->entries = entries;
    for (unsigned i = 0; i < a->n_entries; i++) {
        uint8_t kind = take_u8(in);
        entries[i] = (struct raft_entry){.term = kind % 8, .type = kind & 0x40 ? RAFT_CHANGE : RAFT_COMMAND, .buf = {payload, kind >> 4}};
        if (kind & 0x40) {
            entries[i].buf.base = (void *)(uintptr_t)config->ptr;
            entries[i].buf.len = (size_t)config->len;
        }
    }
}

static void fill_raft(struct input *in, struct raft_message *m, uint32_t from, const struct bytes *config)
{
    m->type = (enum raft_message_type)(1 + take_u8(in) % 6);
    switch (m->type) {
    case RAFT_APPEND_ENTRIES:
        fill_append(in, &m->append_entries, config);
        break;
    case RAFT_APPEND_ENTRIES_RESULT:
        m->append_entries_result.term = take_u8(in) % 8;
        m->append_entries_result.rejected = take_u8(in) % 32;
        m->append_entries_result.last_log_index = take_u8(in) % 32;
        break;
    case RAFT_REQUEST_VOTE:
        m->request_vote.term = take_u8(in) % 8;
        m->request_vote.candidate_id = from;
        m->request_vote.last_log_index = take_u8(in) % 32;
        m->request_vote.last_log_term = take_u8(in) % 8;
        m->request_vote.disrupt_leader = take_u8(in) & 1;
        m->request_vote.pre_vote = take_u8(in) & 1;
        break;
    case RAFT_REQUEST_VOTE_RESULT:
        m->request_vote_result.term = take_u8(in) % 8;
        m->request_vote_result.vote_granted = take_u8(in) & 1;
        m->request_vote_result.pre_vote = take_u8(in) & 1;
        break;
    default:
        m->type = RAFT_TIMEOUT_NOW;
        m->timeout_now.term = take_u8(in) % 8;
        m->timeout_now.last_log_index = take_u8(in) % 32;
        m->timeout_now.last_log_term = take_u8(in) % 8;
        break;
    }
}

static void fill_message(struct input *in, struct message *m, uint32_t from, const struct bytes *config)
{
    static struct shard_term list[SHARDS];
    memset(m, 0, sizeof *m);
    m->type = (enum message_type)(1 + take_u8(in) % MESSAGE_APP);
    m->shard = take_u8(in) % SHARDS;
    switch (m->type) {
    case MESSAGE_RAFT:
        fill_raft(in, &m->raft, from, config);
        m->everywhere = m->raft.type == RAFT_APPEND_ENTRIES ? take_u8(in) % 32 : 0;
        break;
    case MESSAGE_PROBE:
    case MESSAGE_PROBE_ACK:
        m->probe.round = take_u8(in);
        m->probe.count = 1;
        m->probe.list = list;
        list[0] = (struct shard_term){take_u8(in) % SHARDS, take_u8(in) % 8};
        break;
    case MESSAGE_HANDOVER:
        m->handover.term = take_u8(in) % 8;
        m->handover.target = 1 + take_u8(in) % 3;
        break;
    case MESSAGE_HASH:
        m->hash.index = take_u8(in) % 32;
        m->hash.hash = take_u8(in);
        break;
    case MESSAGE_APP:
        m->app.data = take_bytes(in, 4);
        break;
    default:
        m->snapshot.term = take_u8(in) % 8;
        m->snapshot.index = take_u8(in) % 32;
        m->snapshot.last_term = take_u8(in) % 8;
        m->snapshot.config = *config;
        m->snapshot.file_bytes = take_u8(in) % 16;
        m->snapshot.offset = take_u8(in) % 16;
        m->snapshot.data = take_bytes(in, take_u8(in) % 16);
        break;
    }
}

static void say(struct world *w, struct input *in, uint32_t from, const struct bytes *config)
{
    struct message m;
    struct buf out;
    fill_message(in, &m, from, config);
    buf_init(&out, 0);
    if (message_encode(&out, &m) == 0) {
        core_receive(w->core, from, (struct bytes){out.ptr, (int32_t)out.len}, w->now_us);
    }
    buf_fini(&out);
}

static void finish_write(struct world *w)
{
    const struct store_record *records = w->records;
    w->records = NULL;
    if (records != NULL) {
        int rc = store_write(w->store, records, w->record_count);
        MUSTER_CHECK(rc == 0 || w->fatal);
        core_persisted(w->core, rc, w->now_us);
    }
}

static void finish_job(struct world *w)
{
    if (w->job_count > 0) {
        struct core_job *job = w->jobs[0];
        w->job_count--;
        memmove(&w->jobs[0], &w->jobs[1], w->job_count * sizeof w->jobs[0]);
        job->run(job);
        core_job_done(w->core, job, w->now_us);
    }
}

static void step(struct world *w, struct input *in, const struct bytes *config)
{
    uint8_t what = take_u8(in);
    uint32_t from = 2 + (what >> 4) % 2;
    uint64_t term, index;
    w->now_us += 100;
    switch (what % 12) {
    case 0:
        core_receive(w->core, from, take_bytes(in, take_u8(in)), w->now_us);
        break;
    case 1:
        finish_write(w);
        break;
    case 2:
        finish_job(w);
        break;
    case 3:
        w->now_us += 10000 * (1 + take_u8(in) % 40);
        core_tick(w->core, w->now_us);
        break;
    case 4:
        core_peer_state(w->core, from, (enum core_peer_event)(take_u8(in) % 3), w->now_us);
        break;
    case 5:
        replica_propose(w->core, take_u8(in) % SHARDS, bytes_of_str(STR("entry")), &term, &index);
        replica_want_round(w->core, take_u8(in) % SHARDS);
        break;
    case 6:
        replica_transfer(w->core, take_u8(in) % SHARDS, take_u8(in) % 4);
        break;
    case 7:
        core_snapshot_hint(w->core, take_u8(in) % SHARDS);
        break;
    default:
        say(w, in, from, config);
        break;
    }
    replica_flush(w->core, w->now_us);
}

static void open_world(struct world *w, struct mem_disk *disk, const struct store_identity *identity)
{
    const struct core_host host = {
        .ctx = w, .persist = host_persist, .send = host_send, .job = host_job, .trim = host_trim, .flush = host_flush, .port = &w->port};
    const struct replica_events events = {w,
                                          on_role,
                                          on_apply,
                                          on_confirmed,
                                          on_restore_begin,
                                          on_restore_data,
                                          on_restored,
                                          on_snapshot_begin,
                                          on_snapshot_next,
                                          on_snapshot_end,
                                          on_state_hash,
                                          on_message,
                                          on_peer,
                                          on_fatal,
                                          NULL};
    struct core_options options = {.seed = 1, .hash_interval = 4};
    const struct store_options store = {.shard_count = SHARDS,
                                        .segment_bytes = 1 << 16,
                                        .reserve_bytes = 1 << 12,
                                        .entry_max_bytes = 1 << 20};
    struct store_recovery recovery;
    struct store_report report;
    char text[256];
    mem_disk_port(disk, &w->port);
    w->now_us = 1000000;
    MUSTER_CHECK(core_new(&w->core, identity, &options, &host, &events) == 0);
    core_recovery(w->core, &recovery);
    MUSTER_CHECK(store_open(&w->store, &w->port, &store, &recovery, &report) == 0);
    MUSTER_CHECK(core_start(w->core, w->now_us, text) == 0);
    core_peer_state(w->core, 2, CORE_PEER_CONNECTED, w->now_us);
    core_peer_state(w->core, 3, CORE_PEER_CONNECTED, w->now_us);
}

static void small_decoders(const uint8_t *data, size_t size)
{
    static struct form_request request;
    struct form_answer answer;
    struct hello hello;
    struct hello_answer hello_answer;
    struct bytes all = {data, (int32_t)size};
    (void)hello_decode(all, &hello);
    (void)hello_answer_decode(all, &hello_answer);
    (void)form_request_decode(all, &request);
    (void)form_answer_decode(all, &answer);
    (void)message_config_valid(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
    small_decoders(data, size);
    struct world w = {0};
    struct input in = {data, size};
    struct store_identity identity = {.node_id = 1, .shard_count = SHARDS, .hash_version = 1, .peer_count = 3};
    for (uint32_t i = 0; i < 3; i++) {
        identity.peers[i].node_id = i + 1;
        snprintf(identity.peers[i].address, sizeof identity.peers[i].address, "n%u:1", i + 1);
    }
    struct buf config;
    buf_init(&config, 0);
    MUSTER_CHECK(core_founding_config(&identity, &config) == 0);
    struct bytes config_bytes = {config.ptr, (int32_t)config.len};
    struct mem_disk *disk = mem_disk_new();
    open_world(&w, disk, &identity);
    for (int i = 0; i < STEPS_MAX && in.left > 0; i++) {
        step(&w, &in, &config_bytes);
    }
    core_stop(w.core);
    w.records = NULL;
    while (w.job_count > 0) {
        finish_job(&w);
    }
    core_free(w.core);
    store_close(w.store);
    mem_disk_free(disk);
    buf_fini(&config);
    return 0;
}
