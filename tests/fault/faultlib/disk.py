"""Disks that fill, fail and hang, one for each node: a small file system of its own (needs --mount), and disk_fault.c before the system's calls."""
import mmap
import os
import struct
import subprocess

from .network import SwitchedCluster, tests_of
from .story import check

FINE, WRITE_FAILS, SYNC_FAILS, SYNC_HANGS, SYNC_SLOW, READ_FAILS = range(6)   # enum fault in disk_fault.c


def mount(path, options, remount=False):
    path.mkdir(parents=True, exist_ok=True)
    options += ",remount" if remount else ""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    check(done.returncode == 0, f"a file system with {options} cannot be mounted: {done.stdout.strip()}")


class FrailCluster(SwitchedCluster):
    """A switched cluster whose nodes have disks and wall clocks that a test can break. With the lossy build of musterd a kill is a power cut."""

    MEGABYTES = 256

    def __init__(self, folder, base_port, bin_folder, nodes=3, settings=None):
        super().__init__(folder, base_port, bin_folder, nodes, settings)
        self.preloads = [tests_of(self.bin) / f"lib{name}.so" for name in ("clock_shift", "disk_fault")]
        check(all(p.exists() for p in self.preloads), f"{self.preloads} are not all there")
        self.disks, self.clocks = {}, {}
        for node in range(1, nodes + 1):
            mount(self.data(node), f"size={self.MEGABYTES}m")
            self.disks[node] = self._control(f"disk-{node}", 8)
            self.clocks[node] = self._control(f"clock-{node}", 8)

    def __exit__(self, *reason):
        for node in range(1, self.nodes + 1):
            self.disk(node, FINE)
        super().__exit__(*reason)

    def _control(self, name, size):
        path = self.folder / name
        path.write_bytes(bytes(size))
        with open(path, "r+b") as f:
            return mmap.mmap(f.fileno(), size)

    def environment_of(self, node):
        return dict(self.environment, LD_PRELOAD=" ".join(map(str, self.preloads)), MUSTER_DISK_FAULT=str(self.folder / f"disk-{node}"),
                    MUSTER_CLOCK_SHIFT=str(self.folder / f"clock-{node}"),
                    ASAN_OPTIONS=self.environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")

    def disk(self, node, fault, milliseconds=0):
        self.disks[node][:] = struct.pack("=ii", fault, milliseconds)

    def clock(self, node, seconds):
        """From now on the node's wall clock is that far from the machine's."""
        self.clocks[node][:] = struct.pack("=q", seconds)

    def fill_disk(self, node):
        """Leaves no room at all: what is there stays."""
        at = os.statvfs(self.data(node))
        used = (at.f_blocks - at.f_bfree) * at.f_frsize
        mount(self.data(node), f"size={used // 1024}k", remount=True)

    def empty_disk(self, node):
        mount(self.data(node), f"size={self.MEGABYTES}m", remount=True)

