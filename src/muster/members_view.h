/* members_view.h: the members of the cluster as all nodes together tell of them. */
#ifndef MUSTER_CLI_MEMBERS_VIEW_H
#define MUSTER_CLI_MEMBERS_VIEW_H

#include "client.h"

enum { MEMBERS_MAX = CLIENT_NODES_MAX };

struct members_view {
    const struct cluster_members_response *base; /* of the node that leads shard 0, else of the first that answered */
    const struct cluster_members_response *answers[MEMBERS_MAX];
    int answer_count;
    int32_t controller; /* -1: nobody leads shard 0 */
};

/* In how many shards a member votes or learns, and how far it is behind where it is farthest. */
struct member_progress {
    int votes, learns;
    int64_t lag; /* entries; -1: not known */
};

/* 0 (some nodes may not have answered), or a client error: none did. */
int members_fetch(struct client *c, struct arena *arena, struct members_view *ret);
int members_shards(const struct members_view *view);
/* The shard as its leader tells of it, else as anybody does; NULL: nobody. */
const struct cluster_members_response_shard *members_shard(const struct members_view *view, int32_t shard);
struct member_progress members_progress(const struct members_view *view, int32_t node);
/* The member of that id; NULL: there is none. */
const struct cluster_members_response_member *members_find(const struct members_view *view, int32_t node);

const char *member_standing_name(int8_t standing);
const char *member_change_name(int8_t kind);

#endif
