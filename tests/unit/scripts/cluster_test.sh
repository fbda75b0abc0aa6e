#!/usr/bin/env bash
# scripts/cluster with a stand-in for musterd: processes, pids, properties, and what it says when a node ends.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

mkdir "$TEMP/bin"
cat >"$TEMP/bin/musterd.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "form") == 0) {
        return 0;
    }
    puts("started");
    fflush(stdout);
    if (access("stop-at-once", F_OK) == 0) {
        return 3;
    }
    for (;;) {
        pause();
    }
}
C
cc -o "$TEMP/bin/musterd" "$TEMP/bin/musterd.c"
printf '#!/bin/sh\necho "$@" >>"%s"\ncat "%s"\n' "$TEMP/asked" "$TEMP/answer" >"$TEMP/bin/muster"
chmod +x "$TEMP/bin/muster"
: >"$TEMP/answer"
cd "$TEMP"
export MUSTER_BIN=$TEMP/bin MUSTER_CLUSTER_DIR=$TEMP/cluster
trap '"$REPO/scripts/cluster" stop >/dev/null 2>&1 || true; rm -rf "$TEMP"' EXIT

cluster() {
    "$REPO/scripts/cluster" "$@" 2>&1
}

# state_of N: the state of node N's process as the kernel names it (S: waits, T: stopped, Z or nothing: gone).
state_of() {
    sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$(<"$MUSTER_CLUSTER_DIR/node-$1/pid")/status" 2>/dev/null || true
}

expect_refusal 'bootstrap of no cluster succeeds' 'there is no cluster in' cluster bootstrap
cluster start --nodes 3 --base-port 21000 --set muster.shards=2 --set group.max.size=5
properties=$(<"$MUSTER_CLUSTER_DIR/node-3/musterd.properties")
expect_text properties "$properties" "node.id=3
listeners=PLAINTEXT://127.0.0.1:21200
advertised.listeners=PLAINTEXT://127.0.0.1:21200
muster.peer.listener=127.0.0.1:21201
muster.peers=1@127.0.0.1:21001,2@127.0.0.1:21101,3@127.0.0.1:21201
muster.data.dir=$MUSTER_CLUSTER_DIR/node-3/data
muster.shards=2
group.max.size=5"
expect_text bootstrap "$(cluster bootstrap)" '127.0.0.1:21000,127.0.0.1:21100,127.0.0.1:21200'
for n in 1 2 3; do
    expect_text "node $n" "$(state_of "$n")" S
done
expect_refusal 'a second start succeeds' 'runs already' cluster start

cluster pause 2
expect_text paused "$(state_of 2)" T
cluster resume 2
expect_text resumed "$(state_of 2)" S
cluster kill 1
sleep 0.1
expect 'kill: the process is still there' test -z "$(state_of 1 | tr -d Z)"
expect_refusal 'a dead node is killed again' 'node 1 does not run' cluster kill 1
cluster restart 1
expect_text restarted "$(state_of 1)" S
expect_refusal 'node 4 of 3 is killed' "'4' is not the number of a node (1 to 3)" cluster kill 4

# A recorded pid that belongs to something else by now is left alone.
sleep 60 &
other=$!
cluster kill 2
echo "$other" >"$MUSTER_CLUSTER_DIR/node-2/pid"
expect_refusal 'a foreign process is killed' 'node 2 does not run' cluster kill 2
cluster stop
expect 'stop ended a foreign process' kill -0 "$other"
kill "$other"

served='{"shards": [{"shard": 0, "leader": 1, "serving": true}, {"shard": 1, "leader": 3, "serving": true}], "members": [{"featureLevel": 3}, {"featureLevel": 2}]'
echo "$served, \"featureLevel\": 2}" | sed 's/"leader": 3, "serving": true/"leader": 0, "serving": false/' >"$TEMP/answer"
expect_refusal 'wait returns although a shard has no leader' 'not all groups are served' cluster wait 1
echo "$served, \"featureLevel\": 1}" >"$TEMP/answer"
expect_refusal 'wait returns although the new cluster has not the level of its nodes' 'not all groups are served' cluster wait 1
echo "$served, \"featureLevel\": 2}" >"$TEMP/answer"
expect 'wait does not return although all is served' cluster wait 1
echo "$served, \"featureLevel\": 1}" >"$TEMP/answer"
expect 'wait does not return although the cluster is no longer new' cluster wait 1
printf 'NODE  ADDRESS          SHARD\n   2  127.0.0.1:21100      7\n' >"$TEMP/answer"
expect_text coordinator "$(cluster coordinator some-group)" 2
expect_text coordinator "$(tail -n 1 "$TEMP/asked")" 'groups coordinator some-group --bootstrap 127.0.0.1:21000'
expect_refusal 'the coordinator of no group is found' 'cluster: coordinator needs a GROUP' cluster coordinator
expect_refusal 'no shard is transferred' 'cluster: transfer needs a SHARD' cluster transfer
cluster transfer 1 3 >/dev/null
expect_text transfer "$(tail -n 1 "$TEMP/asked")" 'cluster transfer 1 3 --bootstrap 127.0.0.1:21000'

touch stop-at-once
expect_refusal 'start succeeds although the nodes end' 'node 1 ended' cluster start

finish
