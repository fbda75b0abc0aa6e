/* log_states.c: whether two logs make the same states, by the hashes of all of them: 24 bytes an entry. */
#include "log.h"
#include "log_explain.h"
#include "out.h"

#include <inttypes.h>
#include <stdlib.h>

void log_states_init(struct log_states *states, uint32_t shard_count)
{
    *states = (struct log_states){.shards = calloc(shard_count + 1, sizeof(*states->shards)), .shard_count = shard_count};
    MUSTER_CHECK(states->shards != NULL);
}

void log_states_fini(struct log_states *states)
{
    for (uint32_t i = 0; i < states->shard_count; i++) {
        free(states->shards[i].v);
    }
    free(states->shards);
}

void log_states_note(struct log_states *states, uint32_t shard, const struct log_state_mark *mark)
{
    if (shard >= states->shard_count) {
        return;
    }
    struct log_states_shard *s = &states->shards[shard];
    while (s->count > 0 && s->v[s->count - 1].index >= mark->index) {
        s->count--;
    }
    if (s->count == s->cap) {
        s->cap = s->cap > 0 ? s->cap * 2 : 256;
        s->v = reallocarray(s->v, s->cap, sizeof(*s->v));
        MUSTER_CHECK(s->v != NULL);
    }
    s->v[s->count++] = *mark;
}

void log_states_replaced(struct log_states *states, uint32_t shard, uint64_t index)
{
    if (shard < states->shard_count && index > states->shards[shard].replaced) {
        states->shards[shard].replaced = index;
    }
}

/* ---- comparing ---- */

struct finding {
    uint64_t first, last; /* indexes that both reach; 0: there is none */
    uint64_t compared;
    uint64_t differs; /* the first index at which the states differ; 0: none */
    bool by_entry;    /* before it they were the same: it is that entry's doing */
};

/* Entries of different terms: where one of them was replaced by a snapshot later, it never was committed, and says nothing. */
static bool is_void(const struct log_states_shard *a, const struct log_states_shard *b, const struct log_state_mark *x,
                    const struct log_state_mark *y)
{
    return x->term != y->term && (x->index < a->replaced || y->index < b->replaced);
}

static struct finding compare(const struct log_states_shard *a, const struct log_states_shard *b)
{
    struct finding f = {0};
    uint64_t same = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const struct log_state_mark *x = &a->v[i], *y = &b->v[k];
        if (x->index != y->index) {
            i += x->index < y->index;
            k += y->index < x->index;
            continue;
        }
        if (is_void(a, b, x, y)) {
            i++;
            k++;
            continue;
        }
        f.first = f.compared == 0 ? x->index : f.first;
        f.last = x->index;
        f.compared++;
        if (x->hash == y->hash) {
            same = x->index;
        } else if (f.differs == 0) {
            f.differs = x->index;
            f.by_entry = same > 0 && same == x->index - 1;
        }
        i++;
        k++;
    }
    return f;
}

static json_t *finding_json(uint32_t shard, const struct finding *f)
{
    json_t *one = json_object();
    out_json_set(one, "shard", json_integer(shard));
    out_json_set(one, "compared", json_integer((json_int_t)f->compared));
    out_json_set(one, "firstIndex", json_integer((json_int_t)f->first));
    out_json_set(one, "lastIndex", json_integer((json_int_t)f->last));
    out_json_set(one, "firstDifference", f->differs != 0 ? json_integer((json_int_t)f->differs) : json_null());
    return one;
}

static void show_findings(struct cli *cli, const struct finding *v, uint32_t count, json_t **ret)
{
    static const char *const headers[] = {"SHARD", "COMPARED", "FIRST", "LAST", "FIRST-DIFFERENCE"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    if (ret != NULL) {
        *ret = json_array();
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ret != NULL) {
            out_json_add(*ret, finding_json(i, &v[i]));
            continue;
        }
        table_number(&t, i);
        table_number(&t, (int64_t)v[i].compared);
        table_number_or_dash(&t, v[i].compared > 0 ? (int64_t)v[i].first : -1);
        table_number_or_dash(&t, v[i].compared > 0 ? (int64_t)v[i].last : -1);
        table_number_or_dash(&t, v[i].differs != 0 ? (int64_t)v[i].differs : -1);
    }
    if (ret == NULL) {
        fprintf(cli->out, "\nstates that both logs make:\n");
        table_print(&t, cli->out);
    }
}

/* ---- why ---- */

/* The state that one of them makes, record by record beside the snapshot that the other one has of it, if it has one. */
static void explain(struct cli *cli, struct log_folder *makes, struct log_folder *has, uint32_t shard, uint64_t index)
{
    const struct log_wish wish = {shard, index};
    struct log_explain explain = {.count = 0};
    int code;
    struct log_replay *r = log_replay_run(cli, makes, &wish, 1, &code);
    const struct log_shard *s = log_replay_shard(r, shard);
    if (s != NULL && s->index == index) {
        log_explain_compare(&explain, cli, has, shard, index, s->set);
        log_explain_blame(&explain, cli, makes);
    }
    log_replay_free(r);
}

static void tell(struct cli *cli, uint32_t shard, const struct finding *f, struct log_folder *const *folders, const char *const *names)
{
    fflush(cli->out);
    if (!f->by_entry) {
        cli_say(cli,
                "shard %" PRIu32 ": the states differ at index %" PRIu64
                ", the first that both logs make: what one of them begins with is wrong",
                shard, f->differs);
        explain(cli, folders[0], folders[1], shard, f->differs);
        explain(cli, folders[1], folders[0], shard, f->differs);
        return;
    }
    cli_say(cli, "shard %" PRIu32 ": the states are the same up to index %" PRIu64 " and differ behind entry %" PRIu64, shard,
            f->differs - 1, f->differs);
    for (int i = 0; i < 2 && !cli->json; i++) {
        log_show_entry(cli, folders[i], names[i], shard, f->differs);
    }
}

int log_states_compare(struct cli *cli, const struct log_states *states, struct log_folder *const *folders, const char *const *names,
                       json_t **ret)
{
    uint32_t count = states[0].shard_count < states[1].shard_count ? states[0].shard_count : states[1].shard_count;
    struct finding *findings = ARENA_NEW(&cli->arena, struct finding, count);
    uint32_t differ = 0;
    for (uint32_t i = 0; i < count; i++) {
        findings[i] = compare(&states[0].shards[i], &states[1].shards[i]);
        differ += findings[i].differs != 0;
    }
    show_findings(cli, findings, count, ret);
    for (uint32_t i = 0; i < count; i++) {
        if (findings[i].differs != 0) {
            tell(cli, i, &findings[i], folders, names);
        }
    }
    return differ == 0 ? CLI_OK : cli_fail(cli, CLI_FAILED, "the logs make different states of %" PRIu32 " shards", differ);
}
