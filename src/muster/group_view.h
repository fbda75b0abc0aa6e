/* group_view.h: what the cluster says of a group, of whatever type, in one form for tables and JSON. */
#ifndef MUSTER_CLI_GROUP_VIEW_H
#define MUSTER_CLI_GROUP_VIEW_H

#include "cli.h"
#include "client.h"
#include "consumer_protocol.h"

/* Who coordinates a group, of whatever type. */
struct coordinator_view {
    int32_t id; /* -1: not told */
    const char *host;
    int32_t port;
    int32_t shard; /* the group's; -1: the cluster has none, or does not say how many */
};
/* As client_coordinator; with an error id is -1. */
int coordinator_view_fetch(struct client *c, struct str group, struct arena *arena, struct coordinator_view *ret, int16_t *ret_error);

enum { MEMBER_CLASSIC = 0, MEMBER_CONSUMER = 1 }; /* MemberType of ConsumerGroupDescribe */
/* Whether a group is protected: the group config muster.protected. */
enum protection { PROTECTION_NOT_TOLD, PROTECTION_OFF, PROTECTION_ON };
/* Of a group that exists or not. Not told by Apache Kafka, and by a moment of the past that does not know configs. As client_any_call, without VERSION. */
int protection_fetch(struct client *c, struct str group, struct arena *arena, enum protection *ret);
struct member_view {
    struct str member_id, instance_id, client_id, host;
    struct str_array topics;                     /* subscribed to; len -1: not known */
    struct bytes subscription, assignment_bytes; /* of a classic group, as sent; else null */
    bool assignment_known;
    struct topic_partitions_list assignment;
    /* of a consumer group */
    struct topic_partitions_list target;
    struct str rack_id, regex; /* null: none */
    int32_t epoch;
    int8_t type; /* which protocol it speaks; -1: not told */
};
/* The shard of a group that may exist or not; -1: as in coordinator_view. */
int32_t group_shard(struct client *c, struct str group);

struct group_view {
    struct str group_id;
    int16_t error; /* not 0: the rest is empty */
    struct str error_message;
    struct str type, state, protocol_type, protocol; /* type "classic" or "consumer"; protocol: of a consumer group the assignor */
    bool is_consumer;
    int32_t epoch, assignment_epoch; /* of a consumer group */
    enum protection protection;      /* where describe asked for it */
    struct coordinator_view coordinator;
    struct member_view *members;
    int32_t member_count;
};
/* 0 (error set when there is no such group), or as client_group_call. */
int group_view_fetch(struct client *c, struct str group, struct arena *arena, struct group_view *ret);

struct listed_group {
    struct str group_id, type, protocol_type, state;
    int32_t coordinator_id;
};
struct listed_groups {
    struct listed_group *v;
    int count, cap;
};
/* Which groups: a bit for each state and for each type that is wanted; 0: all. */
struct list_filter {
    uint32_t states, types;
};
/* --state and --type: names in whatever case, separated by commas, as Kafka's tool takes them. CLI_OK, or CLI_USAGE with a message. */
int list_filter_take(struct cli *cli, struct list_filter *ret);
/* Asks every node for its groups; ordered by id. A node that does not answer is reported on cli->err and left out. filter NULL: all groups. */
int group_list_fetch(struct cli *cli, struct client *c, const struct list_filter *filter, struct listed_groups *ret);

/* Leaves those in the list that are protected. 0, or as client_any_call. */
int protected_keep(struct client *c, struct listed_groups *list, struct arena *arena);

/* Behind what is said of a group that there is not: "; did you mean ...?" when there is one of a close name, or "". Asks quietly and not for long. */
const char *group_meant(struct client *c, struct str group, struct arena *arena);
/* The groups that the operands name, or all of the cluster when there are none (--all-groups, where they could be missing). As group_list_fetch. */
int groups_named(struct cli *cli, struct client *c, struct str **ret, int *ret_count);

/* What a group has committed, and the ends of the partitions. */
struct offset_view {
    struct str topic;
    int32_t partition;
    int64_t committed;    /* -1: none */
    int32_t leader_epoch; /* -1: none */
    struct str metadata;
    int64_t end; /* -1: not known */
};
struct offsets_view {
    struct offset_view *v;
    int count, cap;
    int16_t error;
};
/* Every committed offset of the group, ordered by topic and partition. */
int offsets_view_fetch(struct client *c, struct str group, struct arena *arena, struct offsets_view *ret);
/* CLI_OK, or what a group's answer says against it, said: an error, or of a group that was named that it has no offsets. */
int offsets_view_judge(struct cli *cli, struct str group, bool named, const struct offsets_view *offsets);
/* Adds a partition without a commit unless it is there; keeps the order. */
void offsets_view_add(struct offsets_view *offsets, struct str topic, int32_t partition, struct arena *arena);
/* Asks the partitions' leaders for the ends; those that cannot be told stay -1. */
int offsets_view_ends(struct client *c, struct offsets_view *offsets, struct arena *arena);
/* Those to compute a lag from: in a cluster of muster an end of 0 is one that nobody has set, and tells nothing. */
int offsets_view_known_ends(struct client *c, struct offsets_view *offsets, struct arena *arena);
/* Asks the partitions' leaders for the offset at a time (ms, of the wall clock) or LIST_LATEST, LIST_EARLIEST, into ret[0..count). LIST_NONE: there is no such
 * partition, or nothing in it since that time. LIST_UNTOLD: it has no leader now, or that does not answer, or has moved. */
enum { LIST_LATEST = -1, LIST_EARLIEST = -2 };
enum { LIST_NONE = -1, LIST_UNTOLD = -2 };
int offsets_view_list(struct client *c, const struct offsets_view *offsets, int64_t timestamp, struct arena *arena, int64_t *ret);
/* CLI_OK, or that what was listed of the partition is LIST_UNTOLD, said: nobody may take it for a partition that is gone. */
int offsets_view_told(struct cli *cli, const struct offset_view *place, int64_t listed);

/* ---- group_show.c ---- */
struct str names_text(const struct str_array *names, struct arena *arena); /* "a,b"; null: none */
json_t *names_json(const struct str_array *names);
struct str coordinator_text(const struct coordinator_view *v, struct arena *arena);
json_t *coordinator_json(const struct coordinator_view *v);
json_t *group_shard_json(const struct coordinator_view *v);         /* null: not told */
json_t *protection_json(enum protection protection);                /* null: not told */
void protection_print(struct cli *cli, enum protection protection); /* a line below the group's, when it is protected */
json_t *group_json(const struct group_view *g, const struct offsets_view *offsets, struct arena *arena);
void group_print_summary(struct cli *cli, const struct group_view *g);
void group_print_members(struct cli *cli, const struct group_view *g);
void group_print_offsets(struct cli *cli, const struct group_view *g,
                         const struct offsets_view *offsets); /* partitions, then members without any */

/* ---- groups.c: a command that describes the groups it names, as tables one after the other or as one document ---- */
struct describing {
    struct cli *cli;
    struct client client;
    json_t *groups; /* for JSON */
    bool printed;
};
int describe_each(struct cli *cli, int (*one)(struct describing *d, struct str group)); /* one: an enum cli_exit */
void describe_next(struct describing *d);                                               /* before the first table of a group */

/* Connects per cli->bootstrap. CLI_OK, or CLI_USAGE with a message. */
int cli_connect(struct cli *cli, struct client *c);
/* The exit code for a client error, its text said. */
int cli_client_failed(struct cli *cli, const struct client *c, int rc);

#endif
