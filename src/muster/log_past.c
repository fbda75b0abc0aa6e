/* log_past.c: a moment of the past, rebuilt from the log. */
#include "log_past.h"
#include "out.h"

#include <muster/group.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool log_past_is_asked(const struct log_past *p, uint32_t shard)
{
    return p->asked < 0 || p->asked == (int64_t)shard;
}

void log_past_close(struct log_past *p)
{
    if (p->replay != NULL) {
        log_replay_free(p->replay);
    }
    p->replay = NULL;
}

/* ---- which entries ---- */

/* A wall clock that was set back makes a time stand in the log twice: which one is taken is said. */
static void say_again(struct cli *cli, int64_t wall_ms, const struct log_found *found, size_t count, const struct log_past *p)
{
    size_t several = 0, first = 0;
    for (size_t i = count; i > 0; i--) {
        if (log_past_is_asked(p, (uint32_t)(i - 1)) && found[i - 1].again != 0) {
            first = i - 1;
            several++;
        }
    }
    if (several == 0) {
        return;
    }
    struct str time = out_time(wall_ms, &cli->arena);
    const char *others = several > 1 ? arena_printf(&cli->arena, "; so it is in %zu more shards", several - 1).ptr : "";
    cli_say(cli,
            "shard %zu: wall clocks went back, and %.*s is more than once in the log: taken is the first time, behind entry %" PRIu64
            " (clock:%" PRId64 "); the last is entry %" PRIu64 " (clock:%" PRId64 ")%s",
            first, STR_ARG(time), found[first].at, found[first].at_clock_ms, found[first].again, found[first].again_clock_ms, others);
}

static int wish_time(struct cli *cli, struct log_folder *f, int64_t wall_ms, struct log_wish *wishes, const struct log_past *p, bool lax)
{
    const struct log_moment at = {.by_time = true, .wall_ms = wall_ms};
    struct log_found *found;
    size_t count;
    int rc = log_find_moment(cli, f, &at, &found, &count);
    if (rc < 0) {
        return cli_fail(cli, CLI_FAILED, "%s", muster_strerror(rc));
    }
    for (size_t i = 0; i < count; i++) {
        bool asked = log_past_is_asked(p, (uint32_t)i);
        wishes[i] = (struct log_wish){(uint32_t)i, asked || i == 0 ? found[i].at : 0};
        if (asked && found[i].at == 0 && !lax) {
            return cli_fail(cli, CLI_FAILED, "shard %zu: the log that is kept begins at %.*s", i,
                            STR_ARG(out_time(found[i].begins_ms, &cli->arena)));
        }
    }
    if (!lax) {
        say_again(cli, wall_ms, found, count, p);
    }
    return CLI_OK;
}

static bool has_option(const struct cli *cli, const char *name)
{
    for (size_t i = 0; i < cli->command->option_count; i++) {
        if (strcmp(cli->command->options[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Of one shard, whose own index or clock it is. */
static int wish_index(struct cli *cli, const struct log_folder *f, uint64_t index, struct log_wish *wishes, const struct log_past *p)
{
    if (p->asked < 0 && f->log_shards > 1) {
        return cli_fail(cli, CLI_USAGE, "each shard has its own entries and clock: give %s",
                        has_option(cli, "shard")   ? "--group or --shard with an index or clock:MS, or a time"
                        : has_option(cli, "group") ? "a group, or groups of one shard, with an index or clock:MS, or a time"
                                                   : "a time");
    }
    for (uint32_t i = 0; i < f->log_shards; i++) {
        wishes[i] = (struct log_wish){i, log_past_is_asked(p, i) ? index : 0};
    }
    return CLI_OK;
}

static int wish_clock(struct cli *cli, struct log_folder *f, const struct log_moment *at, struct log_wish *wishes, const struct log_past *p)
{
    struct log_found *found;
    size_t count;
    int code = wish_index(cli, f, 0, wishes, p);
    int rc = code == CLI_OK ? log_find_moment(cli, f, at, &found, &count) : 0;
    if (code != CLI_OK || rc < 0) {
        return code != CLI_OK ? code : cli_fail(cli, CLI_FAILED, "%s", muster_strerror(rc));
    }
    uint32_t shard = p->asked >= 0 ? (uint32_t)p->asked : 0;
    if (shard < count && found[shard].at == 0) {
        return cli_fail(cli, CLI_FAILED, "shard %" PRIu32 ": the log that is kept begins at clock:%" PRId64, shard,
                        found[shard].begins_clock_ms);
    }
    return shard < count ? wish_index(cli, f, found[shard].at, wishes, p) : CLI_OK;
}

static int wish(struct cli *cli, struct log_folder *f, const struct log_moment *at, struct log_wish *wishes, const struct log_past *p)
{
    if (at->by_time) {
        return wish_time(cli, f, at->wall_ms, wishes, p, false);
    }
    if (at->by_clock) {
        return wish_clock(cli, f, at, wishes, p);
    }
    if (at->given) {
        return wish_index(cli, f, (uint64_t)at->index, wishes, p);
    }
    for (uint32_t i = 0; i < f->log_shards; i++) {
        wishes[i] = (struct log_wish){i, log_past_is_asked(p, i) || i == 0 ? UINT64_MAX : 0};
    }
    return CLI_OK;
}

/* ---- rebuilding ---- */

/* The catalogue as it was when the entry was written that was asked for by its index. */
static int with_catalog(struct cli *cli, struct log_folder *f, struct log_wish *wishes, struct log_past *p, int code)
{
    const struct log_shard *asked = p->asked > 0 ? log_replay_shard(p->replay, (uint32_t)p->asked) : NULL;
    if (asked == NULL || asked->wall_ms == 0 || wish_time(cli, f, asked->wall_ms, wishes, p, true) != CLI_OK || wishes[0].at == 0) {
        return code;
    }
    wishes[p->asked].at = asked->index;
    log_replay_free(p->replay);
    p->replay = log_replay_run(cli, f, wishes, f->log_shards, &code);
    return code;
}

static int check_reached(struct cli *cli, const struct log_past *p, const struct log_moment *at)
{
    size_t count;
    const struct log_shard *all = log_replay_shards(p->replay, &count);
    if (!at->given || at->by_time || at->by_clock || p->asked < 0) {
        return CLI_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (all[i].shard == (uint32_t)p->asked && all[i].index < (uint64_t)at->index) {
            return cli_fail(cli, CLI_FAILED, "shard %" PRIu32 ": there is no entry %" PRId64 " here, the last one before it is %" PRIu64,
                            all[i].shard, at->index, all[i].index);
        }
    }
    return CLI_OK;
}

int log_past_open(struct cli *cli, struct log_folder *f, struct str group, int64_t shard, const struct log_moment *at, struct log_past *ret)
{
    *ret = (struct log_past){.shard_count = f->log_shards, .asked = shard, .shown_at = at->given};
    if (f->log_shards == 0) {
        return log_folder_tell(cli, f);
    }
    if (ret->asked < 0 && !str_is_null(group)) {
        ret->asked = log_shard_of_group(group, f->log_shards);
    }
    struct log_wish *wishes = ARENA_NEW(&cli->arena, struct log_wish, f->log_shards);
    int code = wish(cli, f, at, wishes, ret);
    if (code != CLI_OK) {
        return code;
    }
    ret->replay = log_replay_run(cli, f, wishes, f->log_shards, &code);
    int reached = code == CLI_OK || code == CLI_TORN ? check_reached(cli, ret, at) : code;
    if (reached != CLI_OK && reached != CLI_CORRUPT) {
        log_past_close(ret);
        return reached;
    }
    bool whole = code == CLI_OK || code == CLI_TORN;
    return whole && at->given && !at->by_time ? with_catalog(cli, f, wishes, ret, code) : code;
}

/* ---- what moment it is ---- */

/* When the entry was written, or why that is not known: barriers and configurations carry no time, nor do snapshots. */
static struct str written(const struct log_shard *s, struct arena *arena)
{
    if (s->wall_ms > 0) {
        return out_time(s->wall_ms, arena);
    }
    return s->snapshot == 0          ? STR("before its first record")
           : s->index == s->snapshot ? STR("a snapshot")
                                     : arena_printf(arena, "the snapshot at %" PRIu64 " and no record behind it", s->snapshot);
}

void log_past_print(struct cli *cli, const struct log_past *p)
{
    size_t count;
    const struct log_shard *all = log_replay_shards(p->replay, &count);
    if (!p->shown_at) {
        return;
    }
    if (cli->json) {
        json_t *line = json_object();
        out_json_set(line, "asOf", log_past_json(p));
        char *text = json_dumps(line, JSON_COMPACT);
        MUSTER_CHECK(text != NULL);
        fprintf(cli->out, "%s\n", text);
        free(text);
        json_decref(line);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (log_past_is_asked(p, all[i].shard)) {
            struct str time = written(&all[i], &cli->arena);
            fprintf(cli->out, "As of entry %" PRIu64 " of shard %" PRIu32 ", shard clock %" PRId64 " ms, %.*s\n", all[i].index,
                    all[i].shard, group_set_clock(all[i].set), STR_ARG(time));
        }
    }
    fputc('\n', cli->out);
}

json_t *log_past_json(const struct log_past *p)
{
    size_t count;
    const struct log_shard *all = log_replay_shards(p->replay, &count);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        if (!log_past_is_asked(p, all[i].shard)) {
            continue;
        }
        json_t *one = json_object();
        out_json_set(one, "shard", json_integer(all[i].shard));
        out_json_set(one, "index", json_integer((json_int_t)all[i].index));
        out_json_set(one, "shardClockMs", json_integer(group_set_clock(all[i].set)));
        out_json_set(one, "wallMs", all[i].wall_ms > 0 ? json_integer(all[i].wall_ms) : json_null());
        out_json_add(array, one);
    }
    return array;
}
