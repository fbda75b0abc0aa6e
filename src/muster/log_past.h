/* log_past.h: a moment of the past: shards as the log makes them up to there, and a client that is answered by them. */
#ifndef MUSTER_CLI_LOG_PAST_H
#define MUSTER_CLI_LOG_PAST_H

#include "client.h"
#include "log.h"

struct log_past {
    struct log_replay *replay; /* NULL: it could not be made, said */
    uint32_t shard_count;
    int64_t asked; /* the one shard that it is about; -1: all */
    bool shown_at; /* a moment was asked for, not the end */
};

/* Rebuilds the shards that are needed: the group's, or the shard given (-1: none), or all; and shard 0 as of the same time, for the names of topics. The code of what
 * went wrong, said; with CLI_TORN and CLI_CORRUPT there may be a state all the same. */
int log_past_open(struct cli *cli, struct log_folder *f, struct str group, int64_t shard, const struct log_moment *at,
                  struct log_past *ret);
void log_past_close(struct log_past *p);
bool log_past_is_asked(const struct log_past *p, uint32_t shard);
/* One line a shard: entry, shard clock, wall clock. With JSON an object a line. Nothing when the end was asked for. */
void log_past_print(struct cli *cli, const struct log_past *p);
json_t *log_past_json(const struct log_past *p); /* [{"shard":..., "index":..., "shardClockMs":..., "wallMs":...}] */

/* For commands with --at: `c` becomes a client whose cluster is that moment; groups are those that the command names. */
int log_past_connect(struct cli *cli, struct client *c);
/* The same for a moment that is given in another way than by --at. */
int log_past_connect_at(struct cli *cli, const struct log_moment *at, struct client *c);
/* The moment of such a client as the member "asOf" of the document; nothing for others. */
void log_past_add(const struct client *c, json_t *document);

#endif
