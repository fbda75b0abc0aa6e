/* offset_change.h: changes of a group's committed offsets: what they are, and carrying them out.
 *
 * With muster each is one AlterGroupOffsets: one decision of the coordinator, all of it or nothing, members fenced in the same entry. Apache Kafka has no such
 * request: there offsets are committed from outside of the group, partition by partition, and nobody can be fenced. */
#ifndef MUSTER_CLI_OFFSET_CHANGE_H
#define MUSTER_CLI_OFFSET_CHANGE_H

#include "cli.h"
#include "client.h"

#include "out.h"

/* Numbers of AlterGroupOffsets. */
enum change_action { CHANGE_SET = 0, CHANGE_MOVE = 1, CHANGE_DELETE = 2 };
enum change_create { CREATE_NO = 0, CREATE_MAY = 1, CREATE_MUST = 2 };

struct offset_change {
    struct str topic;
    int32_t partition;
    enum change_action action;
    int64_t offset;      /* to set; or how far to move */
    int64_t least, most; /* of a move */
    int32_t leader_epoch;
    struct str metadata;
    int64_t before, after; /* as planned, and, once carried out, as it was; -1: none */
};
struct offset_changes {
    struct str group;
    struct offset_change *v; /* in order of topic and partition once offset_changes_sort() was called */
    int count, cap;
    int fenced;          /* members that were removed */
    struct str undo;     /* the command that takes back what was done; empty: none */
    struct str undo_new; /* the same of what had no offset before */
};

struct change_how {
    enum change_create create;
    bool fence, force;
    bool validate_only; /* asks whether it would be done; CLI_OK without asking where that cannot be asked */
    bool quiet;         /* says nothing of what is refused */
};

/* before and after are -1, all bounds open, no leader epoch and no metadata. The pointer holds until the next one is added. */
struct offset_change *offset_changes_add(struct offset_changes *c, struct str topic, int32_t partition, struct arena *arena);
void offset_changes_sort(struct offset_changes *c);
const struct offset_change *offset_changes_find(const struct offset_changes *c, struct str topic,
                                                int32_t partition); /* sorted ones; NULL */

/* An exit code; what went wrong is said. before and after are what they were, where the cluster tells. */
int offsets_change(struct cli *cli, struct client *client, struct offset_changes *changes, const struct change_how *how);
/* Whether the group's coordinator takes AlterGroupOffsets. 0, or as client calls. */
int offsets_change_is_whole(struct cli *cli, struct client *client, struct str group, bool *ret);

/* Where the group's log is before a change, and, with that, the command that brings back what the change replaced; null: it replaced nothing. Not for Apache Kafka.
 * The others: the one that deletes what had no offset before (null: nothing, or more than a command line holds), a group that was made, and the one that makes a
 * group again that was deleted. */
struct offset_undo {
    int64_t index;   /* of the group's shard; 0: not known */
    int64_t wall_ms; /* this machine's clock */
    bool fence;      /* the group has members: nothing else would do */
};
struct offset_undo offset_undo_note(struct cli *cli, struct client *client, struct str group);
/* Others may have changed the group between the note and the change: from then on the place is just before the change's own entry, as far as the coordinator has that in
 * memory. Of changes that were carried out, sorted. */
void offset_undo_settle(struct cli *cli, struct client *client, const struct offset_changes *changes, struct offset_undo *undo);
struct str offset_undo_words(struct cli *cli, const struct offset_undo *undo, const struct offset_changes *changes);
struct str offset_undo_new(struct cli *cli, const struct offset_changes *changes);
struct str offset_undo_made(struct cli *cli, struct str group);
struct str offset_undo_deleted(struct cli *cli, const struct offset_undo *undo, struct str group);
struct str offset_undo_renamed(struct cli *cli, struct str from, struct str to);

/* Whether the value of a --topic names the partition: TOPIC, or TOPIC:0,1. *ret_bad is set when it is neither. */
bool offset_named(const char *value, struct str topic, int32_t partition, bool *ret_bad);

/* Who asks, and for what, in words for the log: "offsets reset --to-latest, by USER". In the arena. */
struct str change_reason(struct cli *cli);

/* ---- results: GROUP TOPIC PARTITION CURRENT-OFFSET NEW-OFFSET, or {"groups": [...]} ---- */
enum { CHANGE_UNDOS = 10 }; /* that are said; --json has all */
struct change_report {
    struct table *table;
    json_t *groups;
    int set, deleted; /* what was done */
    int undos;        /* how it is undone */
    struct str undo[CHANGE_UNDOS], undo_new[CHANGE_UNDOS];
};
void change_report_init(struct change_report *r, struct cli *cli);
void change_report_add(struct change_report *r, struct cli *cli, const struct offset_changes *changes, bool done);
void change_report_end(struct change_report *r, struct cli *cli);

#endif
