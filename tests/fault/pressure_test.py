#!/usr/bin/env python3
"""More is asked of the nodes than they can do: clients that send without an end share each turn of the loop, and whoever asks for little is served all the same: members
keep their groups, shards keep their leaders, memory keeps its bounds, and what was sent is answered, in order."""
import selectors
import socket
import struct
import threading
import time

from admin_test import metrics, port_of
from faultlib import protocol
from faultlib.story import check, main, say, until

FLOODERS, BURST, SECONDS = 60, 200, 8
TOPICS, PARTITIONS = 30, 10
GROWTH_BYTES = 300 << 20


class Flooder:
    """One connection that keeps many requests in flight and counts their answers by their correlation ids."""

    def __init__(self, address, selector):
        self.sent = self.answered = 0
        self.out, self.buffer = bytearray(), bytearray()
        self.socket = socket.create_connection(address)
        self.socket.setblocking(False)
        self.selector = selector
        selector.register(self.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, self)

    def more(self):
        while self.sent - self.answered < BURST:
            self.sent += 1
            self.out += protocol.request_frame("Metadata", 1, self.sent, {"Topics": None}, "flood")

    def write(self):
        self.more()
        try:
            del self.out[:self.socket.send(self.out[:65536])]
        except BlockingIOError:
            pass

    def read(self):
        try:
            data = self.socket.recv(1 << 20)
        except BlockingIOError:
            return
        check(data, "a flooding connection was closed")
        self.buffer += data
        at = 0
        while len(self.buffer) - at >= 8:
            size, correlation = struct.unpack_from(">ii", self.buffer, at)
            if len(self.buffer) - at < 4 + size:
                break
            self.answered += 1
            check(correlation == self.answered, f"answer {correlation} came instead of {self.answered}")
            at += 4 + size
        del self.buffer[:at]


def flood(cluster, stop, flooders):
    selector = selectors.DefaultSelector()
    for n in range(FLOODERS):
        flooders.append(Flooder(cluster.address(n % cluster.nodes + 1), selector))
    while not stop.is_set():
        for key, events in selector.select(0.05):
            if events & selectors.EVENT_READ:
                key.data.read()
            if events & selectors.EVENT_WRITE:
                key.data.write()


def beats(client, members, seconds):
    """Heartbeats and commits of calm members; the slowest."""
    worst, deadline = 0.0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        for group, (member, generation) in members.items():
            begun = time.monotonic()
            client.commit(group, {"t0": {0: 1}}, generation, member)
            worst = max(worst, time.monotonic() - begun)
        time.sleep(0.05)
    return worst


def total(cluster, name, **labels):
    return sum(metrics(cluster, node)[name].value(**labels) for node in range(1, cluster.nodes + 1))


def run(test):
    with test.cluster() as cluster:
        cluster.settings["muster.turn.max.ms"] = "5"
        if test.sanitized():  # two processors are asked for many times what they can do
            cluster.settings.update({"muster.election.timeout.ms": "1500", "muster.heartbeat.interval.ms": "300"})
        cluster.start(spread=False)
        for node in range(1, 4):
            with open(cluster.properties(node), "a", encoding="utf-8") as file:
                file.write(f"muster.admin.listener=127.0.0.1:{port_of(cluster, node)}\n")
            cluster.restart(node)
        cluster.wait()
        cluster.spread()
        client = cluster.client()
        for n in range(TOPICS):
            cluster.muster("topics", "create", f"t{n}", "--partitions", PARTITIONS, "--bootstrap", cluster.bootstrap())
        members = {f"g{n}": client.alone(f"g{n}", topics=("t0",), session=30000) for n in range(6)}
        calm = beats(client, members, 1)
        before = {node: cluster.memory(node) for node in range(1, 4)}
        elections = total(cluster, "muster_raft_elections_begun")
        stop, flooders = threading.Event(), []
        thread = threading.Thread(target=flood, args=(cluster, stop, flooders))
        thread.start()
        try:
            worst = beats(client, members, SECONDS)
        finally:
            stop.set()
            thread.join()
        answered = sum(flooder.answered for flooder in flooders)
        check(answered > FLOODERS * BURST, f"only {answered} answers to the flood")
        deferred = total(cluster, "muster_net_deferred")
        check(deferred > 0, "no connection ever had to wait for another turn")
        check(worst < 5, f"a commit took {worst:.2f} s beside the flood")
        begun = total(cluster, "muster_raft_elections_begun") - elections  # leadership that moves home begins none
        check(begun <= 3, f"{begun:.0f} times somebody believed that a leader was gone")
        for node, memory in before.items():
            grown = cluster.memory(node) - memory
            check(grown < GROWTH_BYTES, f"node {node} grew by {grown >> 20} MB")
        for flooder in flooders:
            flooder.socket.close()
        beats(client, members, 0.5)
        until("shares are whole again", lambda: total(cluster, "muster_net_share") >= 3 << 16, 20, 0.5)
        say(f"{answered} answers to {FLOODERS} connections that send without an end, {deferred:.0f} times one had to wait; slowest commit beside it "
            f"{worst * 1000:.0f} ms, {calm * 1000:.0f} ms before")


if __name__ == "__main__":
    main(run, 23004)
