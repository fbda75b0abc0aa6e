"""The frame of a test: arguments, the story it tells, its verdict."""
import argparse
import os
import sys
import time
import traceback
from pathlib import Path

from .cluster import Cluster
from .protocol import ROOT

BEGUN = time.monotonic()


class Failed(Exception):
    """The product did not do what it must."""


def say(text):
    print(f"{time.monotonic() - BEGUN:7.2f}  {text}", flush=True)


def check(condition, text):
    if not condition:
        raise Failed(text)


def check_equal(got, want, what):
    check(got == want, f"{what}: {got!r}, not {want!r}")


def until(what, condition, seconds, pause=0.05):
    """Waits until condition() is true; its last value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds:g} s: {what}")
        time.sleep(pause)


class Test:
    """What a test works with: where its programs are, its folder and ports, the clusters it made."""

    def __init__(self, options):
        self.options = options
        self.bin = Path(options.bin)
        self.folder = Path(options.dir)
        self.port = options.base_port
        self.clusters = []

    def cluster(self, name="cluster", offset=0, bin_folder=None, **options):
        made = Cluster(self.folder / name, self.port + offset, bin_folder or self.bin, **options)
        self.clusters.append(made)
        return made

    def sanitized(self):
        """Whether the programs are slowed down by a sanitizer."""
        return b"libasan" in (self.bin / "musterd").read_bytes() or b"libtsan" in (self.bin / "musterd").read_bytes()


def _tell_logs(test):
    for cluster in test.clusters:
        for node in range(1, cluster.nodes + 1):
            lines = cluster.log(node).splitlines()
            if lines:
                print(f"---- the end of {cluster.home(node).name}'s log ({cluster.folder.name})", flush=True)
                print("\n".join(lines[-25:]), flush=True)


def _in_namespaces(kinds):
    """Starts the program over in namespaces of its own (unshare's options), so that what it mounts and cuts touches nobody and ends with it."""
    if os.environ.get("MUSTER_FAULT_NAMESPACES"):
        return
    words = ["unshare", *kinds, *([] if os.geteuid() == 0 else ["--map-root-user"]), sys.executable, *sys.argv]
    os.environ["MUSTER_FAULT_NAMESPACES"] = " ".join(kinds)
    os.execvp(words[0], words)


def main(run, default_port, arguments=(), namespaces=()):
    """Runs run(test); ends the process with 0 and `ok`, or with 1 and the reason. arguments: (name, options) for argparse. namespaces: those
    the test wants for itself, as unshare's options: --mount, --net."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--bin", default=os.environ.get("MUSTER_BIN", str(ROOT / "build/release/bin")), help="folder of musterd and muster")
    parser.add_argument("--dir", default=None, help="the test's own folder")
    parser.add_argument("--base-port", type=int, default=default_port)
    for name, options in arguments:
        parser.add_argument(name, **options)
    options = parser.parse_args()
    if namespaces:
        _in_namespaces(namespaces)
    options.dir = options.dir or str(ROOT / "build/fault" / Path(sys.argv[0]).stem)
    Path(options.dir).mkdir(parents=True, exist_ok=True)
    test = Test(options)
    code = 1
    reason = ""
    try:
        run(test)
        say("ok")
        code = 0
    except Failed as failed:
        reason = f"FAILED: {failed}"
    except Exception as error:  # whatever breaks a test is told, and its nodes are ended
        reason = f"FAILED: {type(error).__name__}: {error}"
        traceback.print_exc(limit=8, file=sys.stdout)
    if code != 0:
        say(reason)
        _tell_logs(test)
        say(reason)  # once more: scripts/test shows the end of what a test wrote
    for cluster in test.clusters:
        cluster.__exit__()
    sys.exit(code)
