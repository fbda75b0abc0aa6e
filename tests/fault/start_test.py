#!/usr/bin/env python3
"""What keeps a node from starting is told in a line, with an exit status of its own: configuration, data folder, addresses, forming."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time

from faultlib.client import Conn, Lost
from faultlib.story import check, check_equal, main, say, until

WRONG, CONFIG, DATA, NETWORK, FORM = 1, 3, 4, 5, 6


def settings_of(cluster, node):
    lines = cluster.properties(node).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def attempt(test, name, settings, words=("--config",), before=(), seconds=20):
    """Starts musterd on such a configuration; (exit status, what it wrote). It must end by itself."""
    path = test.folder / f"{name}.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
    process = subprocess.Popen([*before, str(test.bin / "musterd"), *words, str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, start_new_session=True)
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        check(False, f"{name}: it goes on running:\n{out[-1500:]}")
    return process.returncode, out


def refused(test, name, settings, status, texts, **options):
    code, out = attempt(test, name, settings, **options)
    check_equal(code, status, f"{name}: exit status; it wrote\n{out[-1500:]}")
    for text in texts:
        check(text in out, f"{name}: nothing of {text!r} in\n{out[-1500:]}")
    check("Sanitizer" not in out, f"{name}:\n{out[-3000:]}")
    say(f"{name}: exit status {code}, says {texts[0]!r}")


def spare(test, base, **changes):
    """A configuration of a node that could start: own folder, own ports, and what is given."""
    port = test.port + 2
    settings = dict(base, **{"listeners": f"PLAINTEXT://127.0.0.1:{port}", "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
                             "muster.peer.listener": f"127.0.0.1:{port + 1}", "muster.peers": f"1@127.0.0.1:{port + 1}",
                             "muster.data.dir": str(test.folder / "spare")})
    settings.update({key.replace("_", "."): value for key, value in changes.items()})
    return {key: value for key, value in settings.items() if value is not None}


def configurations(test, base):
    wrong = dict(spare(test, base), **{"ofsets.retention.minutes": 5})
    refused(test, "misspelt-key", wrong, CONFIG, ["ofsets.retention.minutes", "offsets.retention.minutes"])
    refused(test, "misspelt-key-checked", wrong, WRONG, ["ofsets.retention.minutes", "offsets.retention.minutes"], words=("--check-config",))
    refused(test, "no-node-id", spare(test, base, node_id=None), CONFIG, ["node.id"])
    refused(test, "value-not-a-number", dict(spare(test, base), **{"num.partitions": "many"}), CONFIG, ["num.partitions", "many"])
    refused(test, "value-out-of-range", dict(spare(test, base), **{"muster.shards": 0}), CONFIG, ["muster.shards"])
    refused(test, "node-not-among-peers", spare(test, base, node_id=9), CONFIG, ["muster.peers"])
    code, out = attempt(test, "good", spare(test, base), words=("--check-config",))
    check_equal(code, 0, f"a good configuration: {out}")


def folders(test, base):
    blocked = test.folder / "a-file"
    blocked.write_text("not a folder")
    refused(test, "folder-below-a-file", dict(spare(test, base), **{"muster.data.dir": str(blocked / "data")}), DATA, ["data_folder_unusable"])
    locked = test.folder / "read-only"
    shutil.rmtree(locked, ignore_errors=True)
    locked.mkdir()
    locked.chmod(0o555)
    # The administrator may write everywhere; the test must not be one.
    before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    refused(test, "folder-not-writable", dict(spare(test, base), **{"muster.data.dir": str(locked)}), DATA, ["data_folder_unusable"],
            before=before)
    locked.chmod(0o755)


def formed(test, cluster):
    """A node of a cluster, and what does not fit its folder."""
    own = settings_of(cluster, 1)
    elsewhere = dict(spare(test, own), **{"muster.data.dir": own["muster.data.dir"], "muster.peers": own["muster.peers"]})
    del elsewhere["muster.peer.listener"]
    elsewhere["muster.peer.listener"] = own["muster.peer.listener"]
    refused(test, "folder-in-use", elsewhere, DATA, ["data_folder_in_use", own["muster.data.dir"]])
    cluster.kill(1)
    cluster.await_end(1)
    refused(test, "other-shards", dict(own, **{"muster.shards": 4}), CONFIG, ["config_does_not_fit_data", "muster.shards"])
    peers = own["muster.peers"].split(",")
    refused(test, "other-node-id", dict(own, **{"node.id": 2, "muster.peer.listener": peers[1].split("@")[1]}), CONFIG,
            ["config_does_not_fit_data", "node.id"])
    for key, value in (("listeners", own["listeners"].rsplit(":", 1)[1]), ("muster.peer.listener", own["muster.peer.listener"].rsplit(":", 1)[1])):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            until(f"port {value} is free", lambda t=taken, v=int(value): bound(t, v), 10)
            taken.listen()
            refused(test, f"busy-port-of-{key}", own, NETWORK, [value])
    cluster.restart(1)
    cluster.wait()
    say("and with its own configuration it starts")
    path = cluster.properties(1)
    text = path.read_text()
    path.write_text(text.replace(own["muster.peers"], ",".join(peers[:2])))
    cluster.restart(1)
    cluster.wait()
    check("evt=peers_differ" in cluster.log(1), "a list of peers that is older than the members is not told of")
    path.write_text(text)
    say("also with a list of peers that is older than the cluster's last change")


def bound(taken, port):
    try:
        taken.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def waiting(test, settings):
    """A node of an empty folder that waits to be formed."""
    shutil.rmtree(test.folder / "spare", ignore_errors=True)
    path = test.folder / "alone.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
    log = open(test.folder / "alone.log", "w+", encoding="utf-8")
    with log, subprocess.Popen([str(test.bin / "musterd"), "--config", str(path)], stdout=log, stderr=log, start_new_session=True) as process:
        until("it waits to be formed", lambda: "waits_to_be_formed" in (test.folder / "alone.log").read_text(), 10)
        yield process


def formed_at_last(test, base):
    """When `musterd form` is done the cluster is there: whoever comes then is not told that nobody listens."""
    settings = spare(test, base)
    with waiting(test, settings) as process:
        try:
            code, out = attempt(test, "form-one", settings, words=("form", "--config"))
            answer = Conn(("127.0.0.1", test.port + 2), 1.0).ask("ApiVersions", 0)
            check_equal((code, answer["ErrorCode"]), (0, 0), f"what a cluster says that has just been formed: {out}")
            code, out = attempt(test, "form-one-again", settings, words=("form", "--config"))
            check(code == 0 and "formed before" in out, f"form again, at once: {code} {out}")
        finally:
            process.kill()
    say("what is formed answers")


def unformed(test, base):
    """A node of an empty folder serves nobody, forms nothing by itself, and ends when told to."""
    settings = spare(test, base)
    port = test.port + 2
    settings["muster.peers"] = ",".join(f"{n}@127.0.0.1:{port + 1 + 100 * (n - 1)}" for n in (1, 2, 3))
    with waiting(test, settings) as process:
        try:
            try:
                Conn(("127.0.0.1", port), 1.0).ask("ApiVersions", 0)
                check(False, "a node that was not formed serves clients")
            except Lost:
                pass
            code, out = attempt(test, "form-without-the-others", settings, words=("form", "--config"))
            check_equal(code, FORM, f"musterd form without the other nodes: {out}")
            check(f"127.0.0.1:{port + 101}" in out or "node 2" in out, f"musterd form does not name who is missing: {out}")
            say(f"form without the others: exit status {code}: {out.strip()}")
            time.sleep(0.3)
            check(process.poll() is None, "the waiting node ended")
            process.send_signal(signal.SIGTERM)
            check_equal(process.wait(10), 0, "exit status after SIGTERM")
        finally:
            process.kill()
    say("a waiting node serves nobody and ends when told to")


def form_again(test, cluster):
    code, out = attempt(test, "form-again", settings_of(cluster, 1), words=("form", "--config"))
    check_equal(code, 0, f"musterd form of a formed cluster: {out}")
    check("formed before" in out, f"musterd form of a formed cluster: {out}")
    say(f"form once more: {out.strip()}")
    alone = cluster.properties(1).read_text().split("muster.peers=")[1].split(",")[0]
    code, out = attempt(test, "form-a-part", dict(settings_of(cluster, 1), **{"muster.peers": alone}), words=("form", "--config"))
    check_equal(code, FORM, f"musterd form of one node of three: {out}")
    check("muster.peers are 3, not 1" in out, f"musterd form of one node of three: {out}")


def run(test):
    cluster = test.cluster().start(spread=False)
    base = settings_of(cluster, 1)
    configurations(test, base)
    folders(test, base)
    unformed(test, base)
    formed_at_last(test, base)
    form_again(test, cluster)
    formed(test, cluster)


if __name__ == "__main__":
    main(run, 25308)
