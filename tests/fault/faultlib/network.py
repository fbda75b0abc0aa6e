"""A cluster whose nodes have network namespaces of their own, so that cables can be cut.

Each node has two cables: one for its peers (10.77.1.N), one for its clients (10.77.2.N). The test itself sits on the clients' side. Needs namespaces
of its own around it (story.main with --net and --mount), in which all of it vanishes with the test.

A SwitchedCluster's peers are joined by cable_switch instead of a bridge: each pair of nodes has a cable in each direction that can be slow, lossy or
cut. It takes the place of tc's netem, which not every kernel has.
"""
import mmap
import struct
import subprocess
import time
from pathlib import Path

from .client import Client
from .cluster import Cluster
from .story import check

PEERS, CLIENTS = 1, 2


def ip(*words):
    done = subprocess.run(["ip", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(done.returncode == 0, f"ip {' '.join(map(str, words))}: {done.stdout.strip()}")


def address_on(net, node):
    return f"10.77.{net}.{node}"


def tests_of(bin_folder):
    """Where the programs of tests are; the builds of musterd with a lossy disk lie one folder deeper."""
    return bin_folder / "tests" if (bin_folder / "tests").is_dir() else bin_folder.parent / "tests"


class NetworkCluster(Cluster):
    """As Cluster, but for scripts/cluster, which knows only loopback: nodes are started here."""

    BRIDGED = (PEERS, CLIENTS)

    def __init__(self, folder, base_port, bin_folder, nodes=3, settings=None):
        super().__init__(folder, base_port, bin_folder, nodes, settings)
        self.processes = {}
        subprocess.run(["rm", "-rf", str(self.folder)], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)  # /run/netns may be missing, and is not everybody's to make
        Path("/run/netns").mkdir()
        ip("link", "set", "lo", "up")
        for net in self.BRIDGED:
            ip("link", "add", f"net{net}", "type", "bridge")
            ip("link", "set", f"net{net}", "up")
        ip("addr", "add", f"{address_on(CLIENTS, 254)}/24", "dev", f"net{CLIENTS}")
        for node in range(1, nodes + 1):
            self._wire(node)

    def _wire(self, node):
        ip("netns", "add", f"node{node}")
        ip("-n", f"node{node}", "link", "set", "lo", "up")
        for net in self.BRIDGED:
            ip("link", "add", f"cable{net}-{node}", "type", "veth", "peer", "name", f"net{net}", "netns", f"node{node}")
            ip("link", "set", f"cable{net}-{node}", "master", f"net{net}", "up")
            ip("-n", f"node{node}", "addr", "add", f"{address_on(net, node)}/24", "dev", f"net{net}")
            ip("-n", f"node{node}", "link", "set", f"net{net}", "up")

    def address(self, node):
        return address_on(CLIENTS, node), self.base_port

    def node_of(self, address):
        return int(address[0].rsplit(".", 1)[1])

    def cut(self, node, net=PEERS):
        """The cable is out: what is sent goes nowhere, and nobody is told."""
        ip("link", "set", f"cable{net}-{node}", "down")

    def mend(self, node, net=PEERS):
        ip("link", "set", f"cable{net}-{node}", "up")

    def run(self, verb, *words, check=True, timeout=90):
        """The verbs that Cluster itself asks for."""
        if verb == "stop":
            for node in range(1, self.nodes + 1):
                self.signal(node, 15)
            for node in range(1, self.nodes + 1):
                if not self.await_end(node):
                    self.kill(node)
        elif verb == "wait":
            self._await_served(int(words[0]) if words else 30)
        elif verb == "restart":
            node = int(words[0])
            self.signal(node, 15)
            self.await_end(node)
            self.start_node(node)
        else:
            raise ValueError(verb)
        return ""

    def _await_served(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if 0 not in self.leaders().values():
                    return
            except RuntimeError:
                pass
            time.sleep(0.1)
        raise RuntimeError(f"not all groups are served after {seconds} s")

    def environment_of(self, node):
        """Of the process of that node."""
        return self.environment

    def start_node(self, node):
        """Once the process before it is quite gone, which holds its folder as long."""
        if node in self.processes:
            self.processes[node].wait(10)
        with open(self.home(node) / "log", "ab") as log:
            process = subprocess.Popen(["ip", "netns", "exec", f"node{node}", str(self.bin / "musterd"), "--config",
                                        str(self.properties(node).resolve())], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       start_new_session=True, env=self.environment_of(node))
        self.processes[node] = process
        (self.home(node) / "pid").write_text(f"{process.pid}\n")
        deadline = time.monotonic() + 5
        while self.pid(node) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        check(process.poll() is None, f"node {node} ended at once:\n{self.log(node)[-1000:]}")

    def start(self, fresh=True, spread=True):
        check(fresh, "such a cluster is always a new one")
        peers = ",".join(f"{n}@{address_on(PEERS, n)}:{self.base_port + 1}" for n in range(1, self.nodes + 1))
        for node in range(1, self.nodes + 1):
            self.home(node).mkdir(parents=True, exist_ok=True)
            listener = f"PLAINTEXT://{address_on(CLIENTS, node)}:{self.base_port}"
            settings = {"node.id": node, "listeners": listener, "advertised.listeners": listener, "muster.peers": peers,
                        "muster.peer.listener": f"{address_on(PEERS, node)}:{self.base_port + 1}",
                        "muster.data.dir": (self.home(node) / "data").resolve(), **self.settings}
            self.properties(node).write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
            self.start_node(node)
        deadline = time.monotonic() + 20
        while True:
            done = subprocess.run(["ip", "netns", "exec", "node1", str(self.bin / "musterd"), "form", "--config", str(self.properties(1))],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode == 0:
                break
            check(time.monotonic() < deadline, f"the cluster is not formed: {done.stdout.strip()}")
            time.sleep(0.1)
        self._await_served(30)
        if spread:
            self.spread()
        return self

    def client(self, **options):
        client = Client(self.addresses(), **options)
        self.clients.append(client)
        return client


class SwitchedCluster(NetworkCluster):
    """Nodes whose peers sit at a cable_switch. Cables are named by who sends and who receives."""

    BRIDGED = (CLIENTS,)
    CABLE = struct.Struct("=III")       # struct cable: lost frames of a million, delay, jitter (microseconds)
    CUT = (1000000, 0, 0)
    WHOLE = (0, 0, 0)

    def __init__(self, folder, base_port, bin_folder, nodes=3, settings=None):
        super().__init__(folder, base_port, bin_folder, nodes, settings)
        self.folder.mkdir(parents=True)
        path = self.folder / "cables"
        words = [word for node in range(1, nodes + 1) for word in (self._mac(node), f"peer{node}")]
        self.switch = subprocess.Popen([str(tests_of(self.bin) / "cable_switch"), str(path), *words], stdout=subprocess.PIPE)
        check(self.switch.stdout.readline() == b"ready\n", "the switch between the nodes does not start")
        with open(path, "r+b") as f:
            self.cables = mmap.mmap(f.fileno(), 0)
        for node in range(1, nodes + 1):
            ip("link", "set", f"peer{node}", "address", self._mac(node), "mtu", 9000, "netns", f"node{node}")
            ip("-n", f"node{node}", "addr", "add", f"{address_on(PEERS, node)}/24", "dev", f"peer{node}")
            ip("-n", f"node{node}", "link", "set", f"peer{node}", "up")

    def __exit__(self, *reason):
        super().__exit__(*reason)
        self.switch.kill()
        self.switch.wait()

    @staticmethod
    def _mac(node):
        return f"02:00:00:00:00:{node:02x}"

    def cable(self, sender, receiver, state):
        at = ((sender - 1) * self.nodes + receiver - 1) * self.CABLE.size
        self.cables[at:at + self.CABLE.size] = self.CABLE.pack(*state)

    def peers_of(self, node):
        return [other for other in range(1, self.nodes + 1) if other != node]

    def between(self, a, b, state):
        """Both directions of a pair."""
        self.cable(a, b, state)
        self.cable(b, a, state)

    def everywhere(self, state):
        for a in range(1, self.nodes + 1):
            for b in self.peers_of(a):
                self.cable(a, b, state)

    def cut(self, node, net=PEERS):
        if net != PEERS:
            super().cut(node, net)
            return
        for other in self.peers_of(node):
            self.between(node, other, self.CUT)

    def mend(self, node, net=PEERS):
        if net != PEERS:
            super().mend(node, net)
            return
        for other in self.peers_of(node):
            self.between(node, other, self.WHOLE)
