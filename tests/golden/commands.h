/* commands.h: the commands of a transcript.
 *
 * A command is a word and key=value pairs, with the client's name before it where a client sends it:
 *
 *     A: join group=orders version=9 protocols=range:ma,rr:mr     a client "a"; member=, instance=, session=, rebalance=, type=, reason=
 *     A: sync group=orders generation=1 member=a-#1 assign=a-#1:pa,b-#2:pb      version=5 type=consumer name=range instance=
 *     A: heartbeat group=orders generation=1 member=a-#1           version=4 instance=
 *     A: leave group=orders members=a-#1,/i1,b-#2/i2               version=5 reason=
 *     A: commit group=orders generation=1 member=a-#1 t-0=5        version=9 instance= retention=
 *     A: fetch group=orders t-0 t-1     (none: all)                version=9 member= epoch=
 *     A: offset-delete group=orders t-0
 *     A: describe group=orders                                     version=6
 *     A: delete group=orders
 *     A: create-topics t:3:1 u:-1:-1    (partitions, replicas)     validate=1
 *     A: create-partitions t:4          A: delete-topics t u        A: producer-id     transactional=
 *     A: alter-configs resource=2/t retention.ms=1 cleanup.policy+compact segment.ms      (a key alone is deleted)
 *     A: consumer group=orders epoch=0 topics=t,u                  ConsumerGroupHeartbeat; consumer.c has its small language. member=a version=1
 *                                     instance= rack= timeout=60s regex=^a.*$ assignor=range owned=t:0/1,u:2
 *                                     told=5s held=1s, there and in streams: its answer may be held; it is printed all the same, and
 *                                     for how long
 *     A: consumer-describe group=orders                            ConsumerGroupDescribe
 *     A: streams group=orders epoch=0 topology=0(in,*cl)           StreamsGroupHeartbeat; streams.c has its small languages. member=a version=1
 *                                     instance= rack= timeout=60s process=p-a endpoint=h:1 tags=k:v info=0 shutdown=1 id= active=0:0/1 offsets=
 *     A: initialize group=orders topology=0(~r.*$,*cl)             StreamsGroupInitialize. id= epoch= member=
 *     A: description group=orders epoch=0 nodes=src:1:in           StreamsGroupTopologyDescriptionUpdate; streams_out.c. member= global= pad=
 *     A: streams-describe group=orders description=1               StreamsGroupDescribe
 *     A: streams-topology group=orders                             StreamsGroupTopology
 *     A: history group=orders                                      GroupHistory
 *     level 2                                                      the feature level that decisions are shown
 *     begin assign group=orders | begin resolve | finish           a job runs; what it found is brought back
 *     created group=orders failure=none                            topics that were wished for have been made (or why they could not)
 *     made group=orders failure=none                               the same for requests that wait for them
 *     config group=orders streams.num.standby.replicas=1           a config of the group
 *     tick 3s                      failover               timers             fire session member=a-#1 epoch=1
 *     topic t 3                    topics-changed group=orders       retention group=orders
 *     set group_max_size=2         hold | release         revision group=orders
 *
 * Member ids are written as they are printed: a-#1 is client a with the first id drawn. Values of protocols and assignments are text; topics:t1+t2 stands for
 * a consumer subscription to topics, topics/3:t1~t1-0+t1-1^rack for one of version 3 with what is owned and a rack, parts:t1-0+t1-1 for a consumer assignment;
 * user data stand behind a "!". Partitions of a topic that is named by its id are printed with its name, in:0,1;
 * in@2:0,1 when it was made again. */
#ifndef MUSTER_TESTS_GOLDEN_COMMANDS_H
#define MUSTER_TESTS_GOLDEN_COMMANDS_H

#include "group_world.h"

struct golden {
    struct world world;
    struct buf *out;       /* the transcript */
    struct buf happened;   /* since the last flush */
    struct group_job *job; /* that ran, and was not brought back yet */
};

void golden_init(struct golden *g, struct buf *out);
void golden_fini(struct golden *g);
void golden_command(struct golden *g, struct str line);
void golden_flush(struct golden *g); /* writes what happened into the transcript */

void golden_rule_seen(const char *rule); /* golden.c */

#endif
