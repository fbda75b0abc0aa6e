/* streams_view.h: what the cluster says of a streams group (KIP-1071), and how it is shown. */
#ifndef MUSTER_CLI_STREAMS_VIEW_H
#define MUSTER_CLI_STREAMS_VIEW_H

#include "cli.h"
#include "client.h"
#include "group_view.h"
#include "out.h"

struct streams_view {
    struct str group_id;
    int16_t error; /* not 0: the rest is empty */
    struct str error_message;
    const struct streams_group_describe_response_described_group *group;
    const struct streams_group_topology_response *topology; /* as stored; NULL: the cluster has no request for it */
    struct coordinator_view coordinator;
    enum protection protection;
};
/* 0 (error set when there is no such streams group), or as client_group_call; VERSION: the cluster serves no streams groups. */
int streams_view_fetch(struct client *c, struct str group, struct arena *arena, struct streams_view *ret);
/* Whether the cluster says that there is no group of that id, of any type. */
bool group_missing(struct client *c, struct str group, struct arena *arena);
/* StreamsGroupTopology alone: as above. The answer's own error is the caller's. */
int streams_topology_fetch(struct client *c, struct str group, struct arena *arena, const struct streams_group_topology_response **ret);
/* Of all states ("Initializing" too), where the cluster tells. */
struct str streams_view_state(const struct streams_view *v);
/* The subtopology whose tasks read the topic (source or repartition source); null: none. */
struct str streams_reader_of(const struct streams_view *v, struct str topic);
/* Adds the partitions of active tasks to what the group has committed. */
void streams_view_partitions(const struct streams_view *v, struct offsets_view *offsets, struct arena *arena);

/* ---- streams_show.c; offsets NULL: not asked for ---- */
json_t *streams_json(const struct streams_view *v, const struct offsets_view *offsets);
void streams_print_summary(struct cli *cli, const struct streams_view *v);
void streams_print_members(struct cli *cli, const struct streams_view *v);
void streams_print_tasks(struct cli *cli, const struct streams_view *v);    /* who has each task, who is to have it, how far its state is */
void streams_print_topology(struct cli *cli, const struct streams_view *v); /* with the partitions that topics have or shall have */
void streams_print_offsets(struct cli *cli, const struct streams_view *v, const struct offsets_view *offsets);

#endif
