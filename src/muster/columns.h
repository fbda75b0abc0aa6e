/* columns.h: columns that the tables of several commands have, each said once. */
#ifndef MUSTER_CLI_COLUMNS_H
#define MUSTER_CLI_COLUMNS_H

/* clang-format off */
#define COLUMN_SHARD      {"SHARD", "the part of the groups that has its log in common; shard 0 has topics, configs and the cluster's members, too"}
#define COLUMN_GROUPS_OFFSETS {"GROUPS, MEMBERS, OFFSETS", "how many the state holds"}
#define COLUMN_TOPICS     {"TOPICS", "how many the state holds; all are in shard 0"}
#define COLUMN_STATE_HASH {"STATE-HASH", "of the whole state: the same on every node at the same entry"}
#define COLUMN_CONSUMER_ID {"CONSUMER-ID", "the member's id"}
#define COLUMN_INSTANCE   {"GROUP-INSTANCE-ID", "the id that a static member keeps over its restarts (group.instance.id)"}
#define COLUMN_CLIENT_ID  {"HOST, CLIENT-ID", "where the member's client connects from, and what it calls itself (client.id)"}
#define COLUMN_GROUP_SHARD {"COORDINATOR, SHARD", "the node that serves the group, and the shard that the group is in ('muster cluster status')"}
#define COLUMN_CURRENT    {"CURRENT-OFFSET", "what is committed: the next record to read"}
#define COLUMN_END        {"LOG-END-OFFSET", "the end of the partition; '-' where no node tells it, and in a muster cluster where nobody has set one ('muster topics set-end')"}
#define COLUMN_LAG        {"LAG", "how much is between the two, '-' where one is not known; 0 where CURRENT-OFFSET is beyond the end: that was set by hand, or is behind"}
#define COLUMNS_OFFSET    COLUMN_CURRENT, COLUMN_END, COLUMN_LAG
#define COLUMNS_GROUP     COLUMN_INSTANCE, COLUMN_CLIENT_ID, COLUMN_GROUP_SHARD, COLUMNS_OFFSET /* of a group and its members */
#define COLUMN_EPOCHS     {"LEADER-EPOCH", "that the client committed with the offset"}
/* clang-format on */

#endif
