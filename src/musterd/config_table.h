/* config_table.h: every configuration key, once. Included several times, each time with other meanings of the row macros (see config.h and
 * config.c); whatever of them the includer leaves undefined is nothing.
 *
 *   SECTION(name, title)
 *   BOOL(field, key, default, flags, help)
 *   INT16 | INT32 | INT64(field, key, default, min, max, flags, help)
 *   STRING(field, key, default, flags, help)
 *   LIST(field, key, default, choices, flags, help)       comma separated; choices: what an entry may be, separated by |, or ANY
 *   ENUM(field, key, default, choices, flags, help)       choices separated by |; the field holds the index of the one chosen
 *
 * Keys that Kafka has carry Kafka's name, and Kafka's default unless the help says why not. Flags: REQUIRED (no default), DYNAMIC (takes effect
 * while the node runs), FORMED (read once, when the cluster is formed), NONE. */

#ifndef SECTION
#define SECTION(name, title)
#endif
#ifndef BOOL
#define BOOL(field, key, default, flags, help)
#endif
#ifndef INT16
#define INT16(field, key, default, min, max, flags, help)
#endif
#ifndef INT32
#define INT32(field, key, default, min, max, flags, help)
#endif
#ifndef INT64
#define INT64(field, key, default, min, max, flags, help)
#endif
#ifndef STRING
#define STRING(field, key, default, flags, help)
#endif
#ifndef LIST
#define LIST(field, key, default, choices, flags, help)
#endif
#ifndef ENUM
#define ENUM(field, key, default, choices, flags, help)
#endif

/* clang-format off */

SECTION(node, "The node and its cluster")

INT32(node_id, "node.id", , 1, 2147483647, REQUIRED,
      "Number of this node, one of those in muster.peers. A node keeps its number and its data folder together for life.")
STRING(data_dir, "muster.data.dir", "", REQUIRED,
      "Folder of the log and the snapshots. It is made when only its last part is missing. One node uses it at a time.")
LIST(peers, "muster.peers", "", ANY, REQUIRED,
      "All nodes of the cluster as ID@HOST:PORT, the addresses being those of muster.peer.listener. The same on every node.")
STRING(peer_listener, "muster.peer.listener", "", REQUIRED,
      "HOST:PORT on which this node listens for its peers. For a trusted network: clients never speak to it.")
INT32(shards, "muster.shards", 8, 1, 256, FORMED,
      "Number of Raft groups among which the consumer groups are divided. Fixed when the cluster is formed.")

SECTION(clients, "Clients")

LIST(listeners, "listeners", "PLAINTEXT://:9092", ANY, NONE,
      "Where this node listens for clients: one listener, PLAINTEXT://HOST:PORT. Without a host: on all addresses.")
LIST(advertised_listeners, "advertised.listeners", "", ANY, NONE,
      "The address that clients are told to use. Empty: that of listeners, which must name a host then.")
INT32(socket_request_max_bytes, "socket.request.max.bytes", 104857600, 1024, 2147483647, NONE,
      "A request longer than this closes its connection.")
INT64(connections_max_idle_ms, "connections.max.idle.ms", 600000, 1000, 9223372036854, NONE,
      "A connection on which no request was read for this long is closed, unless an answer is still owed on it.")
INT32(max_connections, "max.connections", 2147483647, 1, 2147483647, NONE,
      "Client connections this node holds at most; one more is closed at once.")
INT32(max_connections_per_ip, "max.connections.per.ip", 2147483647, 1, 2147483647, NONE,
      "Client connections from one address at most.")
INT32(connection_max_inflight, "muster.connection.max.inflight", 1000, 1, 1000000, NONE,
      "Requests of one connection that may be unanswered at once; beyond that its socket is not read until an answer has left.")

INT32(request_max_groups, "muster.request.max.groups", 50000, 1, 1000000, NONE,
      "Groups that one request may name (all requests that describe groups, DeleteGroups, OffsetFetch, FindCoordinator). One that names more closes its connection, "
      "as one that is longer than socket.request.max.bytes does.")
INT32(request_max_topics, "muster.request.max.topics", 50000, 1, 1000000, NONE,
      "Topics that one request for metadata, offsets or messages may name. One that names more closes its connection.")
INT32(response_max_bytes, "muster.response.max.bytes", 104857600, 65536, 1073741824, NONE,
      "A request whose answer would be longer than this closes its connection.")
INT32(max_requests, "muster.max.requests", 1048576, 1, 2147483647, NONE,
      "Requests about groups and topics that may wait on this node for other members, for the log or for a majority. One more is answered COORDINATOR_NOT_AVAILABLE.")
INT32(turn_max_ms, "muster.turn.max.ms", 50, 0, 60000, NONE,
      "When a turn of the loop takes longer than this, because clients ask for more than this node can do, each connection gets fewer of its requests into a turn "
      "and is read no further meanwhile, until turns are short again. 0: never.")
INT64(queued_max_request_bytes, "queued.max.request.bytes", 268435456, -1, 1125899906842624, NONE,
      "Memory that requests which have arrived, whole or in part, may take together; beyond it sockets are not read. -1, Kafka's default: no limit.")
INT32(connection_max_output_bytes, "muster.connection.max.output.bytes", 1048576, 65536, 1073741824, NONE,
      "Answers that may wait for a client that does not read them; beyond it none of its requests is taken until it does.")
INT64(queued_max_response_bytes, "muster.queued.max.response.bytes", 268435456, 1048576, 1125899906842624, NONE,
      "Memory that answers to clients which do not read them may take together; beyond it the connection with most of it is closed.")
STRING(rack, "broker.rack", "", NONE,
      "Where this node stands, as clients see it in the list of nodes.")

SECTION(classic, "Classic groups")

LIST(rebalance_protocols, "group.coordinator.rebalance.protocols", "classic,consumer,streams", "classic|consumer|streams", NONE,
      "Group protocols this node serves; classic is served whether it is named or not.")
INT32(group_initial_rebalance_delay_ms, "group.initial.rebalance.delay.ms", 3000, 0, 2147483647, NONE,
      "How long the first rebalance of an empty group waits for more members; each that comes prolongs it up to the rebalance timeout.")
INT32(group_min_session_timeout_ms, "group.min.session.timeout.ms", 6000, 1, 2147483647, NONE,
      "A member that asks for a shorter session timeout is refused.")
INT32(group_max_session_timeout_ms, "group.max.session.timeout.ms", 1800000, 1, 2147483647, NONE,
      "A member that asks for a longer session timeout is refused.")
INT32(group_max_size, "group.max.size", 2147483647, 1, 2147483647, NONE,
      "Members one group may have.")
INT32(max_protocols, "muster.classic.max.protocols", 100, 1, 10000, NONE,
      "Protocols (assignors) that one JoinGroup may name. Each is compared with those of all other members, so the work grows with their square.")
INT32(new_member_join_timeout_ms, "muster.classic.new.member.join.timeout.ms", 300000, 1000, 2147483647, NONE,
      "How long a new member may wait for its first join to be answered before it is dropped. Kafka has the same limit as a constant.")
BOOL(classic_commit_owned_only, "muster.classic.commit.owned.only", false, NONE,
      "Refuse a member's commit of partitions that its assignment does not name. Kafka accepts them.")
BOOL(classic_rebalance_on_partition_change, "muster.classic.rebalance.on.partition.change", false, NONE,
      "Rebalance a group when a topic it subscribes to changes its partitions. With Kafka the group's leader notices by itself, some time later.")
ENUM(classic_rebalance_signal, "muster.classic.rebalance.signal", "heartbeat", "heartbeat|close", NONE,
      "How members learn of a rebalance: by the answer of their next heartbeat, as with Kafka, or by the close of their connection, which is sooner.")

SECTION(modern, "Groups whose assignment the coordinator makes: consumer groups and streams groups")

BOOL(adaptive_enabled, "muster.group.heartbeat.adaptive", true, NONE,
      "Ask a member that has to give something up, or waits for what others give up, for its next heartbeat soon, so that a group settles in fractions "
      "of a second. A settled member keeps its heartbeat interval. Members of a group that is settled cost nothing more.")
INT32(adaptive_floor_ms, "muster.group.heartbeat.adaptive.floor.ms", 500, 1, 2147483647, NONE,
      "The shortest interval that such a member is told.")
INT32(adaptive_rate, "muster.group.heartbeat.adaptive.rate", 1000, 1, 1000000, NONE,
      "Heartbeats a second that all such members of one group may come to; of a larger group each is told a longer interval, up to its heartbeat interval.")
INT32(consumer_hold_ms, "muster.group.consumer.heartbeat.hold.ms", 5000, 0, 2147483647, NONE,
      "How long the heartbeat of a settled member of a consumer group may wait for its answer, so that its client hears at once when the group has something "
      "for it; at most half a second less than the heartbeat interval (a tenth less of a long one, a quarter of a short one), and half of what the session "
      "timeout is longer than that. 0: heartbeats are answered at once.")
INT32(streams_hold_ms, "muster.group.streams.heartbeat.hold.ms", 0, 0, 2147483647, NONE,
      "The same for members of streams groups. 0, for a Kafka Streams application that closes without leaving its group, as it does by default, waits for the "
      "answer of a heartbeat that is under way.")
INT32(hold_interval_ms, "muster.group.heartbeat.hold.interval.ms", 2000, 0, 2147483647, NONE,
      "The heartbeat interval that members are told whose heartbeats wait so, where their group's own is longer: what a client sends besides, such as a "
      "commit, ends the wait, and until its next heartbeat it hears nothing. 0: their group's own.")
INT32(hold_rate, "muster.group.heartbeat.hold.rate", 50, 0, 1000000, NONE,
      "Heartbeats a second that one group may come to by that; members of a larger one keep their group's own interval.")
INT32(hold_max, "muster.group.heartbeat.hold.max", 100000, 0, 2147483647, NONE,
      "Heartbeats that may wait so at this node; beyond it they are answered at once.")
INT32(max_subscribed_topics, "muster.group.max.subscribed.topics", 10000, 1, 1000000, NONE,
      "Topics one member of a consumer group may name in its subscription.")
INT32(max_regexes, "muster.group.max.regexes", 100, 1, 100000, NONE,
      "Different regular expressions the members of one consumer group may subscribe to.")

SECTION(consumer, "Consumer groups (the consumer protocol, KIP-848)")

INT32(consumer_session_timeout_ms, "group.consumer.session.timeout.ms", 45000, 1, 2147483647, NONE,
      "A member that was not heard of for this long is dropped. This and what follows is what groups have that set nothing of their own.")
INT32(consumer_heartbeat_interval_ms, "group.consumer.heartbeat.interval.ms", 5000, 1, 2147483647, NONE,
      "How often members are told to send a heartbeat.")
INT32(consumer_assignment_interval_ms, "group.consumer.assignment.interval.ms", 1000, 0, 2147483647, NONE,
      "Least time between two assignments of a group's partitions; changes meanwhile wait for the next one.")
INT32(consumer_min_session_timeout_ms, "group.consumer.min.session.timeout.ms", 45000, 1, 2147483647, NONE,
      "Smallest session timeout a group may set for itself.")
INT32(consumer_max_session_timeout_ms, "group.consumer.max.session.timeout.ms", 60000, 1, 2147483647, NONE,
      "Largest session timeout a group may set for itself.")
INT32(consumer_min_heartbeat_interval_ms, "group.consumer.min.heartbeat.interval.ms", 5000, 1, 2147483647, NONE,
      "Smallest heartbeat interval a group may set for itself.")
INT32(consumer_max_heartbeat_interval_ms, "group.consumer.max.heartbeat.interval.ms", 15000, 1, 2147483647, NONE,
      "Largest heartbeat interval a group may set for itself.")
INT32(consumer_min_assignment_interval_ms, "group.consumer.min.assignment.interval.ms", 0, 0, 2147483647, NONE,
      "Smallest assignment interval a group may set for itself.")
INT32(consumer_max_assignment_interval_ms, "group.consumer.max.assignment.interval.ms", 15000, 0, 2147483647, NONE,
      "Largest assignment interval a group may set for itself.")
INT32(consumer_max_size, "group.consumer.max.size", 2147483647, 1, 2147483647, NONE,
      "Members one group may have, those of the classic protocol among them.")
LIST(consumer_assignors, "group.consumer.assignors", "uniform,range", "uniform|range", NONE,
      "Assignors that members may name. The first is that of members which name none.")
ENUM(consumer_migration_policy, "group.consumer.migration.policy", "bidirectional", "disabled|downgrade|upgrade|bidirectional", NONE,
      "Which groups change their protocol while members run: classic ones that a member of the consumer protocol joins (upgrade), consumer groups whose "
      "last such member leaves (downgrade), both or none.")
INT32(consumer_regex_refresh_interval_ms, "group.consumer.regex.refresh.interval.ms", 600000, 10000, 2147483647, NONE,
      "Regular expressions are matched against the topics again after this time, and whenever topics are made or deleted.")
BOOL(consumer_assignor_offload_enable, "group.consumer.assignor.offload.enable", true, NONE,
      "Work out large assignments beside the loop.")

SECTION(streams, "Streams groups")

INT32(streams_session_timeout_ms, "group.streams.session.timeout.ms", 45000, 1, 2147483647, NONE,
      "A member that was not heard of for this long is dropped. This and what follows is what groups have that set nothing of their own.")
INT32(streams_heartbeat_interval_ms, "group.streams.heartbeat.interval.ms", 5000, 1, 2147483647, NONE,
      "How often members are told to send a heartbeat.")
INT32(streams_assignment_interval_ms, "group.streams.assignment.interval.ms", 1000, 0, 2147483647, NONE,
      "Least time between two assignments of a group's tasks; changes meanwhile wait for the next one.")
INT32(streams_initial_rebalance_delay_ms, "group.streams.initial.rebalance.delay.ms", 3000, 0, 2147483647, NONE,
      "How long the first assignment of an empty group waits for more members.")
INT32(streams_min_session_timeout_ms, "group.streams.min.session.timeout.ms", 45000, 1, 2147483647, NONE,
      "Smallest session timeout a group may set for itself.")
INT32(streams_max_session_timeout_ms, "group.streams.max.session.timeout.ms", 60000, 1, 2147483647, NONE,
      "Largest session timeout a group may set for itself.")
INT32(streams_min_heartbeat_interval_ms, "group.streams.min.heartbeat.interval.ms", 5000, 1, 2147483647, NONE,
      "Smallest heartbeat interval a group may set for itself.")
INT32(streams_max_heartbeat_interval_ms, "group.streams.max.heartbeat.interval.ms", 15000, 1, 2147483647, NONE,
      "Largest heartbeat interval a group may set for itself.")
INT32(streams_min_assignment_interval_ms, "group.streams.min.assignment.interval.ms", 0, 0, 2147483647, NONE,
      "Smallest assignment interval a group may set for itself.")
INT32(streams_max_assignment_interval_ms, "group.streams.max.assignment.interval.ms", 15000, 0, 2147483647, NONE,
      "Largest assignment interval a group may set for itself.")
INT32(streams_max_standby_replicas, "group.streams.max.standby.replicas", 2, 0, 2147483647, NONE,
      "Most standby tasks a group may set for itself.")
INT32(streams_max_warmup_replicas, "group.streams.max.warmup.replicas", 20, 0, 2147483647, NONE,
      "Most tasks that warm up at once a group may set for itself.")
INT32(streams_min_task_offset_interval_ms, "group.streams.min.task.offset.interval.ms", 15000, 1, 2147483647, NONE,
      "Shortest time between two reports of task offsets a group may set for itself.")
INT32(streams_max_size, "group.streams.max.size", 2147483647, 1, 2147483647, NONE,
      "Members one group may have.")
INT32(streams_num_standby_replicas, "group.streams.num.standby.replicas", 0, 0, 2147483647, NONE,
      "Standby tasks of each task that has state.")
INT32(streams_num_warmup_replicas, "group.streams.num.warmup.replicas", 2, 0, 2147483647, NONE,
      "Tasks of a group that may warm up at once.")
INT64(streams_acceptable_recovery_lag, "group.streams.acceptable.recovery.lag", 10000, 0, 9223372036854775806, NONE,
      "Records that a copy of a task's state may be behind and still counts as caught up.")
INT32(streams_task_offset_interval_ms, "group.streams.task.offset.interval.ms", 60000, 1, 2147483647, NONE,
      "How often members are told to say how far the state of their tasks has come.")
STRING(streams_rack_aware_assignment_tags, "group.streams.rack.aware.assignment.tags", "", NONE,
      "Keys of client tags, separated by commas, over whose values standby tasks are spread.")
LIST(streams_assignors, "group.streams.assignors", "sticky", "sticky", NONE,
      "Assignors of tasks. There is one.")
BOOL(streams_assignor_offload_enable, "group.streams.assignor.offload.enable", true, NONE,
      "Work out large assignments beside the loop.")
INT32(streams_initialize_timeout_ms, "muster.streams.initialize.timeout.ms", -1, -1, 2147483647, NONE,
      "How long a member that was asked for the topology may take before another one is asked. -1: its own rebalance timeout.")
INT32(streams_max_subtopologies, "muster.streams.max.subtopologies", 1000, 1, 10000, NONE,
      "Subtopologies one topology may have.")
INT32(streams_max_topology_topics, "muster.streams.max.topology.topics", 10000, 1, 100000, NONE,
      "Topics one topology may name.")

SECTION(offsets, "Offsets")

INT32(offset_metadata_max_bytes, "offset.metadata.max.bytes", 4096, 0, 2147483647, NONE,
      "Longest metadata text that may accompany a committed offset.")
INT32(offsets_commit_timeout_ms, "offsets.commit.timeout.ms", 5000, 1, 2147483647, NONE,
      "A change that a majority has not stored after this time is answered with a retriable error. It may still happen.")
INT32(offsets_retention_minutes, "offsets.retention.minutes", 10080, 1, 2147483647, NONE,
      "How long offsets are kept that no one uses any more: counted from when the group became empty, or from the commit for groups without members.")
INT64(offsets_retention_check_interval_ms, "offsets.retention.check.interval.ms", 600000, 1, 9223372036854, NONE,
      "How often offsets are looked through for expired ones.")

SECTION(topics, "Topics")

INT32(num_partitions, "num.partitions", 1, 1, 100000, NONE,
      "Partitions of a topic made without saying how many.")
INT16(default_replication_factor, "default.replication.factor", 1, 1, 32767, NONE,
      "Replication factor of a topic made without one. It is recorded and shown; topics here have no data to replicate.")
BOOL(auto_create_topics_enable, "auto.create.topics.enable", false, NONE,
      "Make a topic when a client that allows it asks for one that does not exist. Kafka's default is true. Here topics hold no data, so one "
      "that nobody made on purpose could only hide a misspelt name.")
INT32(max_topics, "muster.max.topics", 100000, 1, 10000000, NONE,
      "Topics the catalogue may hold.")
INT32(max_partitions_per_topic, "muster.max.partitions.per.topic", 100000, 1, 1000000, NONE,
      "Partitions one topic may have.")
INT32(catalog_apply_wait_ms, "muster.catalog.apply.wait.ms", 1000, 0, 60000, NONE,
      "A change of a topic or a config is answered when all connected nodes have it, or after this time.")

SECTION(budgets, "Budgets")

INT64(max_groups, "muster.max.groups", 1000000, 1, 1000000000, DYNAMIC,
      "Groups the cluster may hold. A new one beyond that is refused; those that exist are served.")
INT64(max_members, "muster.max.members", 1000000, 1, 1000000000, DYNAMIC,
      "Members of all groups together, and ids given to members that have yet to join.")
INT64(max_state_bytes, "muster.max.state.bytes", 8589934592, 1048576, 1125899906842624, DYNAMIC,
      "Memory that groups, members and offsets may take together.")
INT32(group_history_max_entries, "muster.group.history.max.entries", 10, 0, 1000, NONE,
      "Rebalances that the history of a group goes back ('muster groups history'). 0: none is recorded.")
INT64(group_history_max_bytes, "muster.group.history.max.bytes", 268435456, 1048576, 1125899906842624, NONE,
      "Memory that the histories of all groups may take. Beyond it a group keeps nothing but its newest rebalance.")

SECTION(consensus, "Consensus")

INT32(election_timeout_ms, "muster.election.timeout.ms", 300, 20, 60000, NONE,
      "How long a follower waits for a leader that says nothing before it stands for election.")
INT32(heartbeat_interval_ms, "muster.heartbeat.interval.ms", 60, 5, 20000, NONE,
      "How often a leader without other messages says that it is there. At most half the election timeout.")
BOOL(fast_failover, "muster.fast.failover", true, NONE,
      "Elect a new leader at once when the connection to the old one ends and its port refuses, instead of waiting for the election timeout.")
INT32(read_probe_interval_us, "muster.read.probe.interval.us", 500, 0, 1000000, NONE,
      "Answers that wrote nothing are confirmed by a majority with at most one probe per node in this time, or in up to four times as long while "
      "probes carry more than 20 requests each. 0: one probe each turn of the loop.")
INT32(entry_max_bytes, "muster.entry.max.bytes", 1048576, 65536, 67108864, NONE,
      "Longest log entry. A request that alone needs a longer one is refused.")
INT32(state_hash_interval, "muster.state.hash.interval", 10000, 1, 1000000000, NONE,
      "After so many entries all replicas of a shard compare the hashes of their states, and the leader writes it into the log, for muster log verify.")
INT32(membership_interval_ms, "muster.membership.interval.ms", 50, 10, 60000, NONE,
      "While the members of the cluster change, how often a shard's leader looks for the next step. At rest it looks once a second.")
INT32(membership_join_timeout_ms, "muster.membership.join.timeout.ms", 60000, 1000, 86400000, NONE,
      "How long a node that is added or replaced may take to answer; then the change is given up, and the node is no member. As long a new cluster waits for the nodes "
      "it was formed with to say which feature level they know; then it begins at level 1.")
INT32(loop_stall_ms, "muster.loop.stall.ms", 100, 1, 60000, NONE,
      "When the loop stood still for longer than this, no member's deadline counts the time it was gone.")

SECTION(storage, "Log and snapshots")

INT64(max_unapplied_bytes, "muster.max.unapplied.bytes", 67108864, 1048576, 1099511627776, NONE,
      "Log entries in memory that wait: a leader refuses changes beyond that for a majority, and a follower takes no more entries than that for its own disk to "
      "store.")
INT64(peer_max_queued_bytes, "muster.peer.max.queued.bytes", 33554432, 1048576, 1073741824, NONE,
      "Bytes that may wait for one peer to take them. What comes on top is dropped, and sent again when the peer is found to be behind.")
INT64(log_segment_bytes, "muster.log.segment.bytes", 67108864, 1048576, 1099511627776, NONE,
      "Size of one file of the log, written out in advance.")
INT64(log_retain_bytes, "muster.log.retain.bytes", 67108864, 65536, 1099511627776, NONE,
      "Log that no snapshot holds: beyond it the shard with most of it writes one. And log kept in memory while a node lacks it, so that one that was away for a "
      "moment need not fetch a snapshot.")
INT64(log_tail_bytes, "muster.log.tail.bytes", 4194304, 4096, 1099511627776, NONE,
      "Log kept in memory although every node has it, all shards; a quarter of muster.log.retain.bytes at most.")
INT64(history_retention_bytes, "muster.history.retention.bytes", 1073741824, 0, 1099511627776, NONE,
      "Log files and snapshots that no node needs any more are kept up to so many bytes on each node, for `muster log` and for looking at groups as they were "
      "(--at). On a full disk they are the first to go. 0: nothing is kept.")
INT64(history_retention_ms, "muster.history.retention.ms", 604800000, -1, 31536000000000, NONE,
      "And no longer than this, by the wall clock, from when they were needed no more. -1: however old; 0: nothing is kept.")
INT32(log_reads_max, "muster.log.reads.max", 4, 0, 1000, NONE,
      "Reads of log files through this node at once, for `muster log` and --at on a live node. Each takes a megabyte of memory; more are asked to come again. 0: none.")
INT64(log_reserve_bytes, "muster.log.reserve.bytes", 8388608, 65536, 1099511627776, NONE,
      "Space set aside so that votes can still be stored on a full disk.")
INT64(snapshot_interval_bytes, "muster.snapshot.interval.bytes", 67108864, 65536, 1099511627776, NONE,
      "A shard takes a snapshot after so many bytes of log entries.")
INT32(snapshot_chunk_bytes, "muster.snapshot.chunk.bytes", 262144, 4096, 16777216, NONE,
      "Piece in which a snapshot is written, checked and sent.")
INT32(backup_idle_timeout_ms, "muster.backup.idle.timeout.ms", 5000, 100, 600000, NONE,
      "While `muster snapshot save` reads a shard, what changes is kept as it was. A reader that makes a longer pause than this has to begin again.")
INT32(slow_write_ms, "muster.slow.write.ms", 1000, 10, 600000, NONE,
      "A leader whose disk takes longer than this for one write hands its shards over to other nodes.")
INT32(disk_hang_ms, "muster.disk.hang.ms", 30000, 1000, 86400000, NONE,
      "A disk that takes longer than this for one write counts as hung: GET /livez fails, and systemd's watchdog is not fed any more.")

SECTION(process, "The process")

INT32(shutdown_transfer_ms, "muster.shutdown.transfer.ms", 2000, 0, 600000, NONE,
      "How long a node that is told to end may take to hand the shards that it leads over to others.")
INT32(pool_threads, "muster.pool.threads", 2, 1, 128, NONE,
      "Threads for what takes long: snapshots and their compression, assignments of large groups, regular expressions.")
INT32(jobs_max, "muster.jobs.max", 2, 1, 128, NONE,
      "Assignments and regular expressions that are worked out at once on these threads; others wait their turn.")
STRING(admin_listener, "muster.admin.listener", "", NONE,
      "HOST:PORT on which GET /metrics, /livez, /readyz and /health are answered, without authentication. Empty: nowhere.")
ENUM(log_level, "muster.log.level", "info", "debug|info|warn|error", NONE,
      "Least important messages that are written to standard error.")

/* clang-format on */

#undef SECTION
#undef BOOL
#undef INT16
#undef INT32
#undef INT64
#undef STRING
#undef LIST
#undef ENUM
