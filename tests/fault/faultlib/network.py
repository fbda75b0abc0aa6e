"""A cluster whose nodes have network namespaces of their own, so that cables can be cut.

Each node has two cables: one for its peers (10.77.1.N), one for its clients (10.77.2.N). The test itself sits on the clients' side. Needs namespaces
of its own around it (story.main with --net and --mount), in which all of it vanishes with the test.
"""
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


class NetworkCluster(Cluster):
    """As Cluster, but for scripts/cluster, which knows only loopback: nodes are started here."""

    def __init__(self, folder, base_port, bin_folder, nodes=3, settings=None):
        super().__init__(folder, base_port, bin_folder, nodes, settings)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)  # /run/netns may be missing, and is not everybody's to make
        Path("/run/netns").mkdir()
        ip("link", "set", "lo", "up")
        for net in (PEERS, CLIENTS):
            ip("link", "add", f"net{net}", "type", "bridge")
            ip("link", "set", f"net{net}", "up")
        ip("addr", "add", f"{address_on(CLIENTS, 254)}/24", "dev", f"net{CLIENTS}")
        for node in range(1, nodes + 1):
            self._wire(node)

    def _wire(self, node):
        ip("netns", "add", f"node{node}")
        ip("-n", f"node{node}", "link", "set", "lo", "up")
        for net in (PEERS, CLIENTS):
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
            self._start_node(node)
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

    def _start_node(self, node):
        with open(self.home(node) / "log", "ab") as log:
            process = subprocess.Popen(["ip", "netns", "exec", f"node{node}", str(self.bin / "musterd"), "--config",
                                        str(self.properties(node).resolve())], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       start_new_session=True)
        (self.home(node) / "pid").write_text(f"{process.pid}\n")
        deadline = time.monotonic() + 5
        while self.pid(node) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        check(process.poll() is None, f"node {node} ended at once:\n{self.log(node)[-1000:]}")

    def start(self, fresh=True, spread=True):
        check(fresh, "such a cluster is always a new one")
        subprocess.run(["rm", "-rf", str(self.folder)], check=True)
        peers = ",".join(f"{n}@{address_on(PEERS, n)}:{self.base_port + 1}" for n in range(1, self.nodes + 1))
        for node in range(1, self.nodes + 1):
            self.home(node).mkdir(parents=True)
            listener = f"PLAINTEXT://{address_on(CLIENTS, node)}:{self.base_port}"
            settings = {"node.id": node, "listeners": listener, "advertised.listeners": listener, "muster.peers": peers,
                        "muster.peer.listener": f"{address_on(PEERS, node)}:{self.base_port + 1}",
                        "muster.data.dir": (self.home(node) / "data").resolve(), **self.settings}
            self.properties(node).write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
            self._start_node(node)
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


