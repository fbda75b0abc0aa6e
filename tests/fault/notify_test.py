#!/usr/bin/env python3
"""What the service manager is told, by a node under a notify socket (a file's and an abstract one): ready while it waits to be formed, how things stand, the watchdog as
long as the loop turns and the disk answers and no longer, and that it ends."""
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from admin_test import get
from faultlib.story import check, main, say, until

WATCHDOG_SECONDS, HANG_MS = 1.0, 1000
FINE, SYNC_HANGS = 0, 3  # disk_fault.c


class Manager:
    """A socket as systemd's, and all that arrived at it, with its moment."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0"))
        self.socket.settimeout(0.05)
        self.heard = []
        self.ended = False
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        while not self.ended:
            try:
                self.heard.append((time.monotonic(), self.socket.recv(4096).decode()))
            except TimeoutError:
                pass

    def close(self):
        self.ended = True
        self.thread.join()
        self.socket.close()

    def has(self, pattern, since=0.0):
        return any(moment >= since and re.search(pattern, text) for moment, text in list(self.heard))

    def fed(self, seconds):
        """How often the watchdog is fed from now on, for that long."""
        begun = time.monotonic()
        time.sleep(seconds)
        return sum(moment >= begun and text == "WATCHDOG=1" for moment, text in list(self.heard))


@contextmanager
def node(test, name, address):
    home = test.folder / name
    home.mkdir(parents=True, exist_ok=True)
    subprocess.run(["rm", "-rf", str(home / "data")], check=True)
    port = test.port
    (home / "properties").write_text(
        f"node.id=1\nlisteners=PLAINTEXT://127.0.0.1:{port}\nmuster.peer.listener=127.0.0.1:{port + 1}\nmuster.peers=1@127.0.0.1:{port + 1}\n"
        f"muster.data.dir={home}/data\nmuster.admin.listener=127.0.0.1:{port + 2}\nmuster.disk.hang.ms={HANG_MS}\n", encoding="utf-8")
    (home / "fault").write_bytes(struct.pack("ii", FINE, 0))
    if address.startswith("/"):
        Path(address).unlink(missing_ok=True)
    manager = Manager(address)
    environment = dict(os.environ, NOTIFY_SOCKET=address, WATCHDOG_USEC=str(int(WATCHDOG_SECONDS * 1e6)), MUSTER_DISK_FAULT=str(home / "fault"))
    library = test.bin / "tests/libdisk_fault.so"
    check(library.exists(), f"there is no {library}")
    environment["LD_PRELOAD"] = str(library)
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    with open(home / "log", "w", encoding="utf-8") as log, subprocess.Popen(
            [str(test.bin / "musterd"), "--config", str(home / "properties")], stderr=log, env=environment) as process:
        try:
            yield home, manager, process
        finally:
            set_fault(home, FINE)
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
            manager.close()


def set_fault(home, fault):
    with open(home / "fault", "r+b") as file:
        file.write(struct.pack("ii", fault, 0))


class Place:
    """What admin_test.get wants to know of a cluster."""

    def __init__(self, port):
        self.port = port

    def address(self, _):
        return "127.0.0.1", self.port


def life(test, home, manager, process):
    until("READY=1 of a node that waits to be formed", lambda: manager.has("^READY=1$"), 20)
    until("STATUS= says what it waits for", lambda: manager.has("^STATUS=Waits for `musterd form`"), 5)
    check(manager.fed(2 * WATCHDOG_SECONDS) >= 2, "the watchdog is not fed")
    subprocess.run([str(test.bin / "musterd"), "form", "--config", str(home / "properties")], check=True, stdout=subprocess.DEVNULL)
    until("STATUS= says that it leads all shards", lambda: manager.has("^STATUS=Leads 8 of 8 shards, 0 have no leader; connected to 1 of 1 "), 20)
    check(manager.fed(2 * WATCHDOG_SECONDS) >= 2, "the watchdog is not fed")
    say("ready, formed, fed, and says how it is")


def stops(test, home, manager, process):
    """A frozen process feeds nobody; nor does one whose disk has hung, though its loop turns."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    check(manager.fed(3 * WATCHDOG_SECONDS) == 0, "a stopped process feeds the watchdog")
    process.send_signal(signal.SIGCONT)
    check(manager.fed(3 * WATCHDOG_SECONDS) >= 2, "the watchdog is not fed after SIGCONT")
    place = Place(test.port)
    set_fault(home, SYNC_HANGS)
    writer = subprocess.Popen([str(test.bin / "muster"), "topics", "create", "t", "--bootstrap", f"127.0.0.1:{test.port}"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until("/livez fails when the disk has hung", lambda: get(place, 1, "/livez")[0] == 503, 20)
    check("disk-hung" in get(place, 1, "/livez")[1], get(place, 1, "/livez")[1])
    check(manager.fed(2 * WATCHDOG_SECONDS) == 0, "the watchdog is fed while the disk hangs")
    set_fault(home, FINE)
    until("/livez is well again", lambda: get(place, 1, "/livez")[0] == 200, 20)
    check(manager.fed(3 * WATCHDOG_SECONDS) >= 2, "the watchdog is not fed when the disk is back")
    writer.wait(60)
    say("not fed by a stopped process, nor while the disk hangs; fed again afterwards")


def end(manager, process):
    process.terminate()
    check(process.wait(20) == 0, "exit code")
    check(manager.has("^STOPPING=1$"), f"{manager.heard[-5:]}")
    say("says that it stops")


def run(test):
    with node(test, "file", f"/tmp/muster-notify-{os.getpid()}") as (home, manager, process):
        life(test, home, manager, process)
        stops(test, home, manager, process)
        end(manager, process)
    Path(f"/tmp/muster-notify-{os.getpid()}").unlink()
    with node(test, "abstract", f"@muster-notify-{os.getpid()}") as (home, manager, process):
        life(test, home, manager, process)
        end(manager, process)


if __name__ == "__main__":
    main(run, 23008)
