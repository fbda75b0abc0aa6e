"""Bad things that happen to a FrailCluster for some seconds, each by a name, and their drawing from a seed."""
import signal

from . import protocol
from .disk import FINE, SYNC_FAILS, SYNC_HANGS, SYNC_SLOW, WRITE_FAILS
from .load import Channel
from .network import CLIENTS, PEERS
from .story import check


class Fault:
    """begin() does it, end() undoes it. Both are quick: the load shares the thread. node: whom it happens to."""

    NAME = ""
    SECONDS = (2.0, 4.0)
    TAKES_NODE = False         # nothing is stored by the node meanwhile

    def __init__(self, cluster, world, rng):
        self.cluster, self.world, self.rng = cluster, world, rng
        self.node = rng.randint(1, cluster.nodes)
        self.seconds = rng.uniform(*self.SECONDS)

    def begin(self):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError

    def restart(self):
        """The node, when it does not run."""
        if self.cluster.pid(self.node) is None:
            self.cluster.start_node(self.node)


class Cut(Fault):
    """Its clients still reach it."""
    NAME = "cut off from its peers"

    def begin(self):
        self.cluster.cut(self.node, PEERS)

    def end(self):
        self.cluster.mend(self.node, PEERS)


class CutWhole(Fault):
    NAME = "cut off from everybody"

    def begin(self):
        self.cluster.cut(self.node, PEERS)
        self.cluster.cut(self.node, CLIENTS)

    def end(self):
        self.cluster.mend(self.node, PEERS)
        self.cluster.mend(self.node, CLIENTS)


class Deaf(Fault):
    NAME = "one-way cut, hears nothing"

    def set(self, state):
        for other in self.cluster.peers_of(self.node):
            self.cluster.cable(other, self.node, state)

    def begin(self):
        self.set(self.cluster.CUT)

    def end(self):
        self.set(self.cluster.WHOLE)


class Mute(Deaf):
    NAME = "one-way cut, is not heard"

    def set(self, state):
        for other in self.cluster.peers_of(self.node):
            self.cluster.cable(self.node, other, state)


class Bridge(Fault):
    """Two nodes that see the third one only."""
    NAME = "bridge: two nodes do not see each other"

    def begin(self):
        self.pair = self.cluster.peers_of(self.node)[:2]
        self.cluster.between(*self.pair, self.cluster.CUT)

    def end(self):
        self.cluster.between(*self.pair, self.cluster.WHOLE)


class Slow(Fault):
    NAME = "delay of 15 to 25 ms between all"
    STATE = (0, 15000, 10000)

    def begin(self):
        self.cluster.everywhere(self.STATE)

    def end(self):
        self.cluster.everywhere(self.cluster.WHOLE)


class Lossy(Slow):
    NAME = "5 % of all frames lost"
    STATE = (50000, 100, 400)


class Kill(Fault):
    """With the lossy build: what it had not synced is gone."""
    NAME = "kill -9 and power cut of one"
    TAKES_NODE = True
    SECONDS = (0.7, 2.5)

    def begin(self):
        self.cluster.kill(self.node)

    def end(self):
        self.restart()


class PowerCut(Kill):
    NAME = "power cut of all three"
    SECONDS = (0.1, 0.5)

    def begin(self):
        self.cluster.kill(*range(1, self.cluster.nodes + 1))

    def end(self):
        for self.node in range(1, self.cluster.nodes + 1):
            self.restart()


class Stop(Kill):
    NAME = "graceful stop and start"

    def begin(self):
        self.cluster.signal(self.node, signal.SIGTERM)

    def end(self):
        check(self.world.run(15, lambda: self.cluster.pid(self.node) is None), f"node {self.node} does not end 15 s after SIGTERM")
        self.restart()


class Pause(Fault):
    NAME = "SIGSTOP"
    TAKES_NODE = True

    def begin(self):
        self.cluster.pause(self.node)

    def end(self):
        self.cluster.resume(self.node)


class FullDisk(Fault):
    NAME = "disk full"
    TAKES_NODE = True

    def begin(self):
        self.cluster.fill_disk(self.node)

    def end(self):
        self.cluster.empty_disk(self.node)


class FailingWrite(Fault):
    """Stops the node: what is on its disk nobody knows."""
    NAME = "EIO of a write"
    TAKES_NODE = True
    FAULT = WRITE_FAILS

    def begin(self):
        self.pid = self.cluster.pid(self.node)
        self.cluster.disk(self.node, self.FAULT)

    def end(self):
        stopped = self.world.run(5, lambda: self.cluster.pid(self.node) is None)
        self.cluster.disk(self.node, FINE)
        check(stopped or self.pid is None, f"node {self.node} goes on, though its disk fails ({self.NAME})")
        self.restart()


class FailingSync(FailingWrite):
    NAME = "EIO of a sync"
    FAULT = SYNC_FAILS


class HangingSync(Fault):
    NAME = "syncs hang"
    TAKES_NODE = True
    STATE = (SYNC_HANGS, 0)

    def begin(self):
        self.cluster.disk(self.node, *self.STATE)

    def end(self):
        self.cluster.disk(self.node, FINE)


class SlowSync(HangingSync):
    NAME = "syncs take 50 ms"
    TAKES_NODE = False
    STATE = (SYNC_SLOW, 50)


class Clock(Fault):
    NAME = "wall clocks jump"

    def begin(self):
        for node in range(1, self.cluster.nodes + 1):
            self.cluster.clock(node, self.rng.choice((-7200, -60, 0, 60, 3600, 864000)))

    def end(self):
        for node in range(1, self.cluster.nodes + 1):
            self.cluster.clock(node, self.rng.choice((-3600, 0, 3600)))


class Transfers(Fault):
    """Every shard is told to move, three times."""
    NAME = "all shards change their leader"

    def begin(self):
        for turn in range(3):
            self.world.at(self.world.now() + turn * self.seconds / 3, self._move)

    def _move(self):
        for address in self.cluster.addresses():
            channel = Channel(self.world, address, lambda _: None)
            for shard in range(8):
                fields = {"Shard": shard, "NodeId": self.rng.randint(1, self.cluster.nodes)}
                channel.send(protocol.request_frame("TransferShard", 0, shard, fields), lambda _: None)
            self.world.at(self.world.now() + 1.0, channel.close)

    def end(self):
        pass


KINDS = (Cut, CutWhole, Deaf, Mute, Bridge, Slow, Lossy, Kill, PowerCut, Stop, Pause, FullDisk, FailingWrite, FailingSync, HangingSync, SlowSync,
         Clock, Transfers)
# What may come together with anything else, on any node, without leaving the cluster's parts in a state that end() does not know.
MILD = (Bridge, Slow, Lossy, Clock, Transfers, SlowSync)


def draw(kind, cluster, world, rng, mixed):
    """The faults of a round: of that kind, and when mixed one or two others of which no two do the same."""
    faults = [kind(cluster, world, rng)]
    others = [other for other in MILD if not overlap(other, kind)]
    while mixed and others and len(faults) < 3 and (len(faults) == 1 or rng.random() < 0.4):
        other = rng.choice(others)
        faults.append(other(cluster, world, rng))
        others = [o for o in others if not overlap(o, other)]
    return faults


def leave_majority(faults, cluster):
    """Whether two nodes are left that store and see each other: not when the node in the middle of a bridge is gone."""
    gone = {f.node for f in faults if f.TAKES_NODE}
    apart = {tuple(cluster.peers_of(f.node)[:2]) for f in faults if isinstance(f, Bridge)}
    nodes = [node for node in range(1, cluster.nodes + 1) if node not in gone]
    return any((a, b) not in apart for a in nodes for b in nodes if a < b) and not any(isinstance(f, PowerCut) for f in faults)


CABLES = (Cut, CutWhole, Deaf, Mute, Bridge, Slow, Lossy)
DISKS = (FullDisk, FailingWrite, FailingSync, HangingSync, SlowSync)


def overlap(one, other):
    """Whether the end of one would undo the other."""
    return one is other or any(one in part and other in part for part in (CABLES, DISKS))
