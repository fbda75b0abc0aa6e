#include "codec.h"
#include "message.h"

#include <string.h>

static uint64_t read_term(struct reader *r)
{
    uint64_t v = reader_u64(r);
    if (v > MESSAGE_TERM_MAX) {
        r->bad = true;
    }
    return v;
}

static uint64_t read_index(struct reader *r)
{
    uint64_t v = reader_u64(r);
    if (v > MESSAGE_INDEX_MAX) {
        r->bad = true;
    }
    return v;
}

/* ---- the Raft library's messages --------------------------------------------------------------------------------- */

/* Versions say which optional fields the library may look at; both ends run the same release, so they are constants here
 * (libraft 0.22.1, message.h) and do not travel. */
enum { VERSION_VOTE = 2, VERSION_VOTE_RESULT = 2, VERSION_APPEND = 0, VERSION_APPEND_RESULT = 2, VERSION_TIMEOUT_NOW = 0 };

static void read_vote(struct reader *r, struct raft_request_vote *v)
{
    v->version = VERSION_VOTE;
    v->term = read_term(r);
    v->candidate_id = reader_u32(r);
    v->last_log_index = read_index(r);
    v->last_log_term = read_term(r);
    v->disrupt_leader = reader_bool(r);
    v->pre_vote = reader_bool(r);
    if (v->term == 0 || v->candidate_id == 0 || v->last_log_term > v->term) {
        r->bad = true;
    }
}

static void write_vote(struct writer *w, const struct raft_request_vote *v)
{
    writer_u64(w, v->term);
    writer_u32(w, (uint32_t)v->candidate_id);
    writer_u64(w, v->last_log_index);
    writer_u64(w, v->last_log_term);
    writer_u8(w, v->disrupt_leader);
    writer_u8(w, v->pre_vote);
}

static void read_vote_result(struct reader *r, struct raft_request_vote_result *v)
{
    v->version = VERSION_VOTE_RESULT;
    v->term = read_term(r);
    v->vote_granted = reader_bool(r);
    v->pre_vote = reader_bool(r);
    v->features = 0;
    v->capacity = 0;
}

static void write_vote_result(struct writer *w, const struct raft_request_vote_result *v)
{
    writer_u64(w, v->term);
    writer_u8(w, v->vote_granted);
    writer_u8(w, v->pre_vote);
}

static bool entry_type_known(uint8_t type)
{
    return type == RAFT_COMMAND || type == RAFT_BARRIER || type == RAFT_CHANGE;
}

static void read_append(struct reader *r, struct raft_append_entries *a, uint64_t *everywhere, struct message_scratch *scratch)
{
    a->version = VERSION_APPEND;
    a->term = read_term(r);
    a->prev_log_index = read_index(r);
    a->prev_log_term = read_term(r);
    a->leader_commit = read_index(r);
    *everywhere = read_index(r);
    a->entries = scratch->entries;
    a->n_entries = reader_u32(r);
    if (a->n_entries > MESSAGE_ENTRIES_MAX || a->term == 0 || a->prev_log_term > a->term ||
        (a->prev_log_index == 0) != (a->prev_log_term == 0)) {
        r->bad = true;
    }
    uint64_t term = a->prev_log_term;
    for (unsigned i = 0; i < a->n_entries && !r->bad; i++) {
        struct raft_entry *e = &scratch->entries[i];
        e->term = read_term(r);
        uint8_t type = reader_u8(r);
        struct bytes data = reader_bytes(r);
        /* Terms in a log never fall and never pass the leader's own: the library relies on it without looking. */
        if (!entry_type_known(type) || e->term == 0 || e->term < term || e->term > a->term) {
            r->bad = true;
            return;
        }
        if (type == RAFT_CHANGE && !message_config_valid(data)) {
            r->bad = true;
            return;
        }
        term = e->term;
        e->type = (enum raft_entry_type)type;
        e->buf.base = (void *)(uintptr_t)data.ptr;
        e->buf.len = (size_t)data.len;
        e->batch = NULL;
    }
}

static void write_append(struct writer *w, const struct raft_append_entries *a, uint64_t everywhere)
{
    writer_u64(w, a->term);
    writer_u64(w, a->prev_log_index);
    writer_u64(w, a->prev_log_term);
    writer_u64(w, a->leader_commit);
    writer_u64(w, everywhere);
    writer_u32(w, a->n_entries);
    for (unsigned i = 0; i < a->n_entries; i++) {
        const struct raft_entry *e = &a->entries[i];
        writer_u64(w, e->term);
        writer_u8(w, (uint8_t)e->type);
        writer_bytes(w, (struct bytes){e->buf.base, (int32_t)e->buf.len});
    }
}

static void read_append_result(struct reader *r, struct raft_append_entries_result *v)
{
    v->version = VERSION_APPEND_RESULT;
    v->term = read_term(r);
    v->rejected = read_index(r);
    v->last_log_index = read_index(r);
    v->features = 0;
    v->capacity = 0;
}

static void write_append_result(struct writer *w, const struct raft_append_entries_result *v)
{
    writer_u64(w, v->term);
    writer_u64(w, v->rejected);
    writer_u64(w, v->last_log_index);
}

static void read_raft(struct reader *r, struct raft_message *m, uint64_t *everywhere, struct message_scratch *scratch)
{
    uint8_t type = reader_u8(r);
    m->type = (enum raft_message_type)type;
    m->server_id = 0;
    m->server_address = "";
    switch (type) {
    case RAFT_REQUEST_VOTE:
        read_vote(r, &m->request_vote);
        break;
    case RAFT_REQUEST_VOTE_RESULT:
        read_vote_result(r, &m->request_vote_result);
        break;
    case RAFT_APPEND_ENTRIES:
        read_append(r, &m->append_entries, everywhere, scratch);
        break;
    case RAFT_APPEND_ENTRIES_RESULT:
        read_append_result(r, &m->append_entries_result);
        break;
    case RAFT_TIMEOUT_NOW:
        m->timeout_now.version = VERSION_TIMEOUT_NOW;
        m->timeout_now.term = read_term(r);
        m->timeout_now.last_log_index = read_index(r);
        m->timeout_now.last_log_term = read_term(r);
        break;
    default:
        r->bad = true;
        break;
    }
}

static void write_raft(struct writer *w, const struct raft_message *m, uint64_t everywhere)
{
    writer_u8(w, (uint8_t)m->type);
    switch (m->type) {
    case RAFT_REQUEST_VOTE:
        write_vote(w, &m->request_vote);
        break;
    case RAFT_REQUEST_VOTE_RESULT:
        write_vote_result(w, &m->request_vote_result);
        break;
    case RAFT_APPEND_ENTRIES:
        write_append(w, &m->append_entries, everywhere);
        break;
    case RAFT_APPEND_ENTRIES_RESULT:
        write_append_result(w, &m->append_entries_result);
        break;
    case RAFT_TIMEOUT_NOW:
        writer_u64(w, m->timeout_now.term);
        writer_u64(w, m->timeout_now.last_log_index);
        writer_u64(w, m->timeout_now.last_log_term);
        break;
    default:
        w->bad = true;
        break;
    }
}

/* ---- ours ------------------------------------------------------------------------------------------------------------ */

static void read_probe(struct reader *r, struct message_probe *p, struct message_scratch *scratch)
{
    p->round = read_index(r);
    p->stamp_us = (int64_t)reader_u64(r);
    p->flags = reader_u8(r);
    p->count = reader_u32(r);
    p->list = scratch->shards;
    if (p->count > MESSAGE_SHARDS_MAX) {
        r->bad = true;
    }
    for (uint32_t i = 0; i < p->count && !r->bad; i++) {
        p->list[i].shard = reader_u32(r);
        p->list[i].term = read_term(r);
    }
}

static void write_probe(struct writer *w, const struct message_probe *p)
{
    writer_u64(w, p->round);
    writer_u64(w, (uint64_t)p->stamp_us);
    writer_u8(w, p->flags);
    writer_u32(w, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        writer_u32(w, p->list[i].shard);
        writer_u64(w, p->list[i].term);
    }
}

static void read_snapshot(struct reader *r, enum message_type type, struct message_snapshot *s)
{
    memset(s, 0, sizeof *s);
    s->term = read_term(r);
    s->index = read_index(r);
    if (type == MESSAGE_SNAPSHOT_OFFER) {
        s->last_term = read_term(r);
        s->config_index = read_index(r);
        s->config = reader_bytes(r);
        s->file_bytes = read_index(r);
        if (s->index == 0 || s->last_term == 0 || s->last_term > s->term || s->config_index > s->index ||
            !message_config_valid(s->config)) {
            r->bad = true;
        }
    } else if (type == MESSAGE_SNAPSHOT_WANT) {
        s->offset = read_index(r);
    } else if (type == MESSAGE_SNAPSHOT_CHUNK) {
        s->file_bytes = read_index(r);
        s->offset = read_index(r);
        s->data = reader_bytes(r);
    }
}

static void write_snapshot(struct writer *w, enum message_type type, const struct message_snapshot *s)
{
    writer_u64(w, s->term);
    writer_u64(w, s->index);
    if (type == MESSAGE_SNAPSHOT_OFFER) {
        writer_u64(w, s->last_term);
        writer_u64(w, s->config_index);
        writer_bytes(w, s->config);
        writer_u64(w, s->file_bytes);
    } else if (type == MESSAGE_SNAPSHOT_WANT) {
        writer_u64(w, s->offset);
    } else if (type == MESSAGE_SNAPSHOT_CHUNK) {
        writer_u64(w, s->file_bytes);
        writer_u64(w, s->offset);
        writer_bytes(w, s->data);
    }
}

static bool names_shard(enum message_type type)
{
    return type != MESSAGE_PROBE && type != MESSAGE_PROBE_ACK && type != MESSAGE_APP;
}

int message_decode(struct bytes data, struct message_scratch *scratch, struct message *ret)
{
    struct reader r = {data.ptr, data.len > 0 ? (size_t)data.len : 0, false};
    uint8_t type = reader_u8(&r);
    struct message m = {.type = (enum message_type)type};
    if (names_shard(m.type)) {
        m.shard = reader_u32(&r);
    }
    switch (type) {
    case MESSAGE_RAFT:
        read_raft(&r, &m.raft, &m.everywhere, scratch);
        break;
    case MESSAGE_PROBE:
    case MESSAGE_PROBE_ACK:
        read_probe(&r, &m.probe, scratch);
        break;
    case MESSAGE_HANDOVER:
        m.handover.term = read_term(&r);
        m.handover.target = reader_u32(&r);
        break;
    case MESSAGE_HASH:
        m.hash.index = read_index(&r);
        m.hash.hash = reader_u64(&r);
        break;
    case MESSAGE_SNAPSHOT_OFFER:
    case MESSAGE_SNAPSHOT_WANT:
    case MESSAGE_SNAPSHOT_CHUNK:
    case MESSAGE_SNAPSHOT_DONE:
        read_snapshot(&r, m.type, &m.snapshot);
        break;
    case MESSAGE_APP:
        m.app.channel = reader_u16(&r);
        m.app.data = reader_bytes(&r);
        break;
    default:
        return MUSTER_E_MALFORMED;
    }
    if (r.bad || r.left != 0) {
        return MUSTER_E_MALFORMED;
    }
    *ret = m;
    return 0;
}

int message_encode(struct buf *out, const struct message *m)
{
    struct writer w = {out, false};
    size_t start = out->len;
    writer_u8(&w, (uint8_t)m->type);
    if (names_shard(m->type)) {
        writer_u32(&w, m->shard);
    }
    switch (m->type) {
    case MESSAGE_RAFT:
        write_raft(&w, &m->raft, m->everywhere);
        break;
    case MESSAGE_PROBE:
    case MESSAGE_PROBE_ACK:
        write_probe(&w, &m->probe);
        break;
    case MESSAGE_HANDOVER:
        writer_u64(&w, m->handover.term);
        writer_u32(&w, m->handover.target);
        break;
    case MESSAGE_HASH:
        writer_u64(&w, m->hash.index);
        writer_u64(&w, m->hash.hash);
        break;
    case MESSAGE_SNAPSHOT_OFFER:
    case MESSAGE_SNAPSHOT_WANT:
    case MESSAGE_SNAPSHOT_CHUNK:
    case MESSAGE_SNAPSHOT_DONE:
        write_snapshot(&w, m->type, &m->snapshot);
        break;
    case MESSAGE_APP:
        writer_u16(&w, m->app.channel);
        writer_bytes(&w, m->app.data);
        break;
    }
    if (w.bad) {
        out->len = start;
        return MUSTER_E_LIMIT;
    }
    return 0;
}

/* The library's encoding: a format byte (1), the number of servers, then id, NUL-terminated address and role of each, zeros up to a multiple
 * of eight. Its decoder trusts the address to end inside the buffer, so that is checked here. */
bool message_config_valid(struct bytes data)
{
    enum { SERVERS_MAX = 64, ADDRESS_MAX = 255 };
    struct reader r = {data.ptr, data.len > 0 ? (size_t)data.len : 0, false};
    if (reader_u8(&r) != 1) {
        return false;
    }
    uint64_t count = reader_u64(&r);
    if (r.bad || count == 0 || count > SERVERS_MAX) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = reader_u64(&r);
        if (r.bad || id == 0 || id > UINT32_MAX) {
            return false;
        }
        const uint8_t *end = r.left > 0 ? memchr(r.at, 0, r.left) : NULL;
        if (end == NULL || end == r.at || end - r.at > ADDRESS_MAX) {
            return false;
        }
        reader_take(&r, (size_t)(end - r.at) + 1);
        uint8_t role = reader_u8(&r);
        if (r.bad || role > RAFT_SPARE) {
            return false;
        }
    }
    return r.left < 8;
}
