"""A cluster of real nodes, through scripts/cluster."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from .client import Client
from .protocol import ROOT

SCRIPT = str(ROOT / "scripts/cluster")
CALM = {"group.initial.rebalance.delay.ms": "0"}


class Cluster:
    """Nodes 1..N. bin_folder: where musterd and muster are. folder is emptied at the start and left behind for whoever wants to look."""

    def __init__(self, folder, base_port, bin_folder, nodes=3, settings=None):
        self.folder = Path(folder)
        self.base_port = base_port
        self.bin = Path(bin_folder)
        self.nodes = nodes
        self.settings = dict(CALM, **(settings or {}))
        self.environment = dict(os.environ, MUSTER_BIN=str(self.bin))
        self.clients = []
        self.look_again = 0.0

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        for client in self.clients:
            client.close()
        for node in range(1, self.nodes + 1):
            self.signal(node, signal.SIGCONT)
        self.run("stop", check=False)

    # ---- the script

    def run(self, verb, *words, check=True, timeout=90):
        done = subprocess.run([SCRIPT, verb, "--dir", str(self.folder), *map(str, words)], env=self.environment, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"scripts/cluster {verb}: {done.stdout.strip()}")
        return done.stdout

    def start(self, fresh=True, spread=True):
        words = ["--nodes", self.nodes, "--base-port", self.base_port]
        for key, value in self.settings.items():
            words += ["--set", f"{key}={value}"]
        self.run("start", *words, *(["--fresh"] if fresh else []))
        self.wait()
        if spread:
            self.spread()
        return self

    def wait(self, seconds=30):
        self.run("wait", seconds)

    def restart(self, node):
        self.run("restart", node)

    def muster(self, *words, timeout=30):
        """The CLI: (exit status, standard output, standard error)."""
        done = subprocess.run([str(self.bin / "muster"), *map(str, words)], timeout=timeout, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def status(self):
        """What `muster cluster status` says, also when a shard has no leader (exit status 1, and a document all the same)."""
        code, out, err = self.muster("cluster", "status", "--bootstrap", self.bootstrap(), "--json")
        if code != 0 and not out:
            raise RuntimeError(f"muster cluster status: {err.strip()}")
        return json.loads(out)

    def members(self):
        """What `muster cluster members` says; None: nobody answers now."""
        code, out, _ = self.muster("cluster", "members", "--bootstrap", self.bootstrap(), "--json")
        return json.loads(out) if code == 0 else None

    def add(self, node, *options):
        """Node of that number, on an empty folder, into the cluster."""
        self.nodes = max(self.nodes, node)
        return self.run("add", node, *options, timeout=180)

    def remove(self, node):
        return self.run("remove", node, timeout=180)

    def replace(self, node, *options):
        """The node comes back with an empty folder."""
        return self.run("replace", node, *options, timeout=180)

    def change(self, verb, node, *options):
        """`muster cluster VERB NODE`: (exit status, standard output, standard error)."""
        return self.muster("cluster", verb, node, *options, "--bootstrap", self.bootstrap(), timeout=180)

    def transfer(self, shard, node):
        return self.muster("cluster", "transfer", shard, node, "--bootstrap", self.bootstrap())

    # ---- addresses and folders

    def address(self, node):
        return "127.0.0.1", self.base_port + 100 * (node - 1)

    def numbers(self):
        """The nodes there are; those that were removed leave gaps."""
        return [node for node in range(1, self.nodes + 1) if self.home(node).is_dir()]

    def addresses(self):
        return [self.address(node) for node in self.numbers() or range(1, self.nodes + 1)]

    def bootstrap(self):
        return ",".join(f"{host}:{port}" for host, port in self.addresses())

    def node_of(self, address):
        return (address[1] - self.base_port) // 100 + 1

    def home(self, node):
        return self.folder / f"node-{node}"

    def data(self, node):
        return self.home(node) / "data"

    def properties(self, node):
        return self.home(node) / "musterd.properties"

    def log(self, node):
        path = self.home(node) / "log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def client(self, **options):
        client = Client(self.addresses(), **options)
        self.clients.append(client)
        return client

    # ---- processes: by the pid that was recorded, while it is this node's

    def pid(self, node):
        """The pid of a node that runs; None: it does not."""
        try:
            pid = int((self.home(node) / "pid").read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            return None
        return pid if f"musterd --config {self.home(node).resolve()}/" in command else None

    def signal(self, node, number):
        pid = self.pid(node)
        if pid is not None:
            os.kill(pid, number)
        return pid

    def kill(self, *nodes):
        """kill -9, and the moment just before it."""
        pids = [self.pid(node) for node in nodes]
        moment = time.monotonic()
        for pid in pids:
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        return moment

    def pause(self, node):
        self.signal(node, signal.SIGSTOP)

    def resume(self, node):
        self.signal(node, signal.SIGCONT)

    def await_end(self, node, seconds=10):
        """True when the node has ended within that time."""
        deadline = time.monotonic() + seconds
        while self.pid(node) is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def memory(self, node):
        """Resident memory in bytes."""
        pages = int(Path(f"/proc/{self.pid(node)}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    # ---- leadership

    def leaders(self):
        """{shard: node}, node 0 where there is none that serves."""
        return {s["shard"]: s["leader"] if s.get("serving") else 0 for s in self.status()["shards"]}

    def leaders_now_and_then(self):
        """leaders(), twice a second at most, for loops that do something else, too; None in between."""
        if time.monotonic() < self.look_again:
            return None
        self.look_again = time.monotonic() + 0.5
        return self.leaders()

    def is_spread(self):
        """Whether every node leads about as many shards as the others, as of now and then."""
        leaders = self.leaders_now_and_then()
        if leaders is None:
            return False
        counts = [list(leaders.values()).count(node) for node in self.numbers()]
        return 0 not in leaders.values() and max(counts) - min(counts) <= 1

    def is_home(self):
        """Whether every shard is led by the node that it prefers, so that nothing moves by itself; as of now and then."""
        leaders, numbers = self.leaders_now_and_then(), self.numbers()
        return leaders is not None and all(node == numbers[shard % len(numbers)] for shard, node in leaders.items())

    def place(self, wanted):
        """Hands shards over until each is led by the node that wanted names for it. Where that is not its home, it goes home by itself some
        seconds later: what comes after must not rely on it."""
        deadline = time.monotonic() + 30
        while True:
            leaders = self.leaders()
            wrong = {shard: node for shard, node in wanted.items() if leaders[shard] != node}
            if not wrong:
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"shards cannot be handed over within 30 s: {wrong} are wanted, {leaders} lead")
            for shard, node in wrong.items():
                self.transfer(shard, node)

    def spread(self):
        """Hands every shard to its home node, so that a test need not wait until the nodes do so by themselves."""
        numbers = self.numbers()
        self.place({shard: numbers[shard % len(numbers)] for shard in self.leaders()})

    def coordinator(self, client, group):
        """Number of the node that coordinates the group."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            address = client.find(group)
            if address is not None:
                return self.node_of(address)
            time.sleep(0.02)
        raise RuntimeError(f"no coordinator of {group} within 10 s")
