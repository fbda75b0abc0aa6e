"""Wall clocks that can be stepped, one for each node (clock_shift.c)."""
import calendar
import struct
import time

from .story import check


class Clocks:
    """Restarts every node of a running cluster with a wall clock of its own."""

    def __init__(self, cluster, library):
        check(library.exists(), f"there is no {library}")
        self.cluster = cluster
        self.library = library
        for node in range(1, cluster.nodes + 1):
            self.step(node, 0)
            self.restart(node)
            cluster.wait()

    def path(self, node):
        return self.cluster.folder / f"clock-{node}"

    def restart(self, node):
        """A node started any other way has the machine's clock."""
        environment = self.cluster.environment
        self.cluster.environment = dict(environment, LD_PRELOAD=str(self.library), MUSTER_CLOCK_SHIFT=str(self.path(node)),
                                        ASAN_OPTIONS=environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
        try:
            self.cluster.restart(node)
        finally:
            self.cluster.environment = environment

    def step(self, node, seconds):
        """From now on the node's clock is that far from the machine's."""
        with open(self.path(node), "r+b" if self.path(node).exists() else "w+b") as f:
            f.write(struct.pack("<q", seconds))

    def believes(self, node):
        """How far from the machine's clock the node's last log line is, in seconds."""
        line = self.cluster.log(node).splitlines()[-1]
        return calendar.timegm(time.strptime(line[:19], "%Y-%m-%dT%H:%M:%S")) - time.time()
