/* members.h: what a node does so that the cluster gets the members that shard 0 says it has (members.c). */
#ifndef MUSTERD_MEMBERS_H
#define MUSTERD_MEMBERS_H

#include <muster/coord.h>
#include <muster/raft_host.h>
#include <uv.h>

struct server;

enum { MEMBERS_DOING_BYTES = 256 };

struct members {
    uv_timer_t timer;
    uint64_t revision; /* of the catalogue's members, as last looked at */
    bool peers_due;    /* the replica has yet to be told who they are */
    /* Of this node's own steps: one at a time. */
    struct coord_request request;
    struct member_step step;
    struct catalog_member founders[CATALOG_MAX_MEMBERS];
    int64_t found_since_us; /* since when this node, which leads shard 0, waits for them; 0: it never did */
    struct arena arena;
    bool asking;
    /* A node that is to join, while this one leads shard 0. */
    bool dialing;
    int64_t join_change, join_since_us, join_next_us; /* of the change, first looked at, next try */
    int join_result;                                  /* of the last try; BUSY: none was made */
    char join_text[RAFT_HOST_TEXT_BYTES];
    int64_t expelled_since_us; /* since when most peers refuse this node; 0: they do not */
    char doing[MEMBERS_DOING_BYTES];
};

void members_init(struct server *s);
void members_start(struct server *s);
void members_stop(struct server *s);
void members_free(struct server *s);
/* In each turn: whether the records of the members have moved. */
void members_look(struct server *s);
struct str members_doing(const void *server);
/* Whether the folder is one of a node that was removed. */
bool members_were_removed(struct server *s);

#endif
