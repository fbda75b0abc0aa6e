/* Somebody who saves backups, over and over, as src/muster/snapshot_save.c does: shards 1, 2, ... and shard 0 last, each from whoever some node takes for its leader,
 * piece by piece; what does not come to its end is begun again. And the node's side, as src/api/read_shard.c has it. */
#include <stdlib.h>

#include "backups.h"

enum { MOST_BEGINNINGS = 100, CUT_IS_GONE = 70, UNKNOWN = -1 };
/* As the node that is asked has it: cuts that nobody goes on reading. */
enum { IDLE_US = 300000 };

struct ask { /* of a piece; cut 0: of the first */
    uint64_t serial;
    uint32_t shard;
    int64_t cut;
    int32_t sequence;
    uint32_t budget;
};

struct piece {
    uint64_t serial;
    int16_t error;
    bool last;
    int64_t cut;
    struct backup_section section;
};

struct sim_cut {
    struct coord_cut cut;
    struct sim_node *node;
    struct sim_cut *next;
    struct ask first; /* waits for the cut to be confirmed */
    bool open;
    bool wrong; /* the node's memory is */
    int64_t id, due_us;
    int32_t sequence; /* of the piece that is given out next */
};

struct sim_backups {
    struct sim *sim;
    uint64_t serial; /* of what is waited for */
    int64_t cuts;
    int64_t began_us, saved_since_us; /* the one under way; the newest that was saved */
    uint32_t done;                    /* shards that are read */
    int beginning;
    uint32_t node;
    struct ask asked;
    struct backup_section sections[SIM_SHARDS];
};

/* ---- a node ---- */

static void piece_free(void *arg)
{
    struct piece *p = arg;
    buf_fini(&p->section.data);
    free(p);
}

static void piece_arrives(struct sim *sim, void *arg, uint64_t tag);

static void answer(struct sim_node *n, const struct piece *p)
{
    struct piece *own = malloc(sizeof(*own));
    MUSTER_CHECK(own != NULL);
    *own = *p;
    sim_at_owned(n->sim, n->sim->now_us + node_lag_us(n) + sim_between(n->sim, 60, 900), piece_arrives, own, 0, piece_free);
}

static void refuse(struct sim_node *n, const struct ask *ask, int16_t error)
{
    struct piece p = {.serial = ask->serial, .error = error};
    if (n->alive)
        answer(n, &p);
}

static void cut_free(struct sim_cut *c)
{
    struct sim_cut **at = &c->node->cuts;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c);
}

static void give_piece(struct sim_cut *c, const struct ask *ask)
{
    struct sim_node *n = c->node;
    const struct coord_cut *cut = &c->cut;
    struct piece p = {.serial = ask->serial, .cut = c->id};
    bool more = false;
    p.section =
        (struct backup_section){.index = cut->index, .term = cut->term, .state_hash = cut->state_hash, .catalog_index = cut->catalog_index};
    buf_init(&p.section.data, 0);
    int rc = coord_cut_next(&c->cut, ask->budget, &p.section.data, &more);
    p.last = !more;
    p.error = rc != 0 ? UNKNOWN : 0;
    c->sequence++;
    c->due_us = node_now(n) + IDLE_US;
    if (!more) {
        coord_cut_close(&c->cut);
        cut_free(c);
    }
    answer(n, &p);
}

static void on_opened(struct coord_cut *cut, int16_t error)
{
    struct sim_cut *c = cut->ctx;
    struct sim_node *n = c->node;
    struct ask ask = c->first;
    bool gone = n->sim->backups->serial != ask.serial;
    if (error == 0 && !c->wrong && !check_state_agrees(n->sim, cut->shard, cut->index, cut->state_hash))
        sim_fail(n->sim, "backup: node %u shard %u: the state is not that of entry %llu", n->id, cut->shard,
                 (unsigned long long)cut->index);
    if (error != 0 || gone) {
        if (error == 0)
            coord_cut_close(cut);
        cut_free(c);
        if (error != 0)
            refuse(n, &ask, error);
        return;
    }
    c->open = true;
    give_piece(c, &ask);
}

static void on_lost(struct coord_cut *cut)
{
    cut_free(cut->ctx);
}

static void open_cut(struct sim_node *n, const struct ask *ask)
{
    struct sim_cut *c = calloc(1, sizeof(*c));
    MUSTER_CHECK(c != NULL);
    c->cut = (struct coord_cut){.shard = ask->shard, .opened = on_opened, .lost = on_lost, .ctx = c};
    c->node = n;
    c->first = *ask;
    c->wrong = n->diverged[ask->shard] != 0;
    c->id = ++n->sim->backups->cuts;
    c->next = n->cuts;
    n->cuts = c;
    coord_cut_open(n->coord, &c->cut);
}

void backups_asked(struct sim_node *n, struct bytes data)
{
    const struct ask *ask = (const void *)data.ptr;
    if (ask->cut == 0) {
        open_cut(n, ask);
        return;
    }
    for (struct sim_cut *c = n->cuts; c != NULL; c = c->next) {
        if (c->open && c->id == ask->cut && c->sequence == ask->sequence) {
            give_piece(c, ask);
            return;
        }
    }
    refuse(n, ask, CUT_IS_GONE);
}

void backups_turn(struct sim_node *n)
{
    for (struct sim_cut *c = n->cuts, *next; c != NULL; c = next) {
        next = c->next;
        if (c->open && c->due_us <= node_now(n)) {
            coord_cut_close(&c->cut);
            cut_free(c);
        }
    }
}

/* ---- who saves ---- */

static void begin(struct sim *sim, void *arg, uint64_t serial);
static void begin_shard(struct sim *sim, void *arg, uint64_t serial);

static void rest(struct sim_backups *b)
{
    sim_at(b->sim, b->sim->now_us + sim_between(b->sim, 200000, 2400000), begin, b, ++b->serial);
}

static struct backup_section *section(struct sim_backups *b)
{
    return &b->sections[(b->done + 1) % SIM_SHARDS];
}

static void section_clear(struct backup_section *s)
{
    buf_fini(&s->data);
    *s = (struct backup_section){.begun = false};
    buf_init(&s->data, 0);
}

static void again(struct sim_backups *b)
{
    b->sim->totals.backups_begun_again++;
    if (b->beginning == MOST_BEGINNINGS)
        rest(b);
    else
        sim_at(b->sim, b->sim->now_us + INT64_C(20000) * (b->beginning < 4 ? b->beginning : 4), begin_shard, b, ++b->serial);
}

static void given_up(struct sim *sim, void *arg, uint64_t serial)
{
    (void)sim;
    struct sim_backups *b = arg;
    if (b->serial == serial)
        again(b);
}

static void ask_arrives(struct sim *sim, void *arg, uint64_t node)
{
    struct sim_node *n = &sim->nodes[node];
    if (n->alive)
        node_ask_backup(n, (struct bytes){arg, sizeof(struct ask)});
    free(arg);
}

static void ask(struct sim_backups *b)
{
    struct sim *sim = b->sim;
    struct ask *own = malloc(sizeof(*own));
    MUSTER_CHECK(own != NULL);
    b->asked.serial = ++b->serial;
    *own = b->asked;
    sim_at_owned(sim, sim->now_us + sim_between(sim, 60, 900), ask_arrives, own, b->node, free);
    sim_at(sim, sim->now_us + (sim_chance(sim, 200000) ? 3000000 : 300000), given_up, b, b->serial);
}

/* Whom to ask somebody else says, who need not know it any better. */
static void begin_shard(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_backups *b = arg;
    const struct sim_node *says = &sim->nodes[members_any(sim)];
    if (b->serial != serial || sim->failed)
        return;
    b->beginning++;
    b->node = 0;
    section_clear(section(b));
    section(b)->asked_us = sim->now_us;
    b->asked = (struct ask){.shard = (b->done + 1) % SIM_SHARDS, .budget = (uint32_t)sim_between(sim, 1000, 20000)};
    if (says->alive)
        (void)coord_shard_state(says->coord, b->asked.shard, &b->node);
    if (b->node == 0)
        again(b);
    else
        ask(b);
}

static void begin(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_backups *b = arg;
    if (b->serial != serial || sim->failed)
        return;
    b->began_us = sim->now_us;
    b->done = 0;
    b->beginning = 0;
    begin_shard(sim, b, serial);
}

static void shard_read(struct sim_backups *b)
{
    struct sim *sim = b->sim;
    b->beginning = 0;
    if (++b->done < SIM_SHARDS) {
        begin_shard(sim, b, b->serial);
        return;
    }
    backup_check(sim, b->sections);
    sim->totals.backups++;
    sim_say(sim, "a backup is saved, begun at %lld us", (long long)b->began_us);
    b->saved_since_us = b->began_us;
    rest(b);
}

static void take(struct sim_backups *b, const struct piece *p)
{
    struct backup_section *s = section(b);
    if (!s->begun) {
        struct backup_section of = p->section;
        of.begun = true;
        of.asked_us = s->asked_us;
        of.data = s->data;
        *s = of;
    }
    if (s->index != p->section.index || s->state_hash != p->section.state_hash)
        sim_fail(b->sim, "backup: a piece of shard %u is of another cut", b->asked.shard);
    MUSTER_CHECK(buf_put(&s->data, p->section.data.ptr, p->section.data.len) == 0);
}

static void piece_arrives(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_backups *b = sim->backups;
    const struct piece *p = arg;
    (void)tag;
    if (p->serial != b->serial || sim->failed) {
        piece_free(arg);
        return;
    }
    if (p->error == UNKNOWN) {
        rest(b);
    } else if (p->error != 0) {
        if (!request_elsewhere(p->error) && p->error != CUT_IS_GONE)
            sim_fail(sim, "backup: shard %u is answered with error %d", b->asked.shard, p->error);
        again(b);
    } else {
        take(b, p);
        b->asked.cut = p->cut;
        b->asked.sequence++;
        if (p->last)
            shard_read(b);
        else
            ask(b);
    }
    piece_free(arg);
}

bool backups_calm(const struct sim *sim, char *why, size_t why_len)
{
    snprintf(why, why_len, "no backup is saved");
    return sim->backups->saved_since_us >= sim->healed_at_us;
}

void backups_start(struct sim *sim)
{
    sim->backups->sim = sim;
    rest(sim->backups);
}

void backups_init(struct sim *sim)
{
    sim->backups = calloc(1, sizeof(*sim->backups));
    MUSTER_CHECK(sim->backups != NULL);
}

void backups_fini(struct sim *sim)
{
    for (uint32_t shard = 0; shard < SIM_SHARDS; shard++)
        buf_fini(&sim->backups->sections[shard].data);
    free(sim->backups);
}
