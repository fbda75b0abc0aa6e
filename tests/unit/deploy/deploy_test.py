#!/usr/bin/env python3
"""What is in deploy/ and cannot run here: parsed and held against what must be true of it. The configurations that it makes, by hand or by a container's shell, are
tried by musterd itself.

    tests/unit/deploy/deploy_test.py MUSTERD
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import yaml

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
MUSTERD = ""
GRACE_SECONDS = 10  # between the hand-over's two seconds and the kill
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def try_config(text, what):
    """musterd must find nothing wrong with it."""
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([MUSTERD, "--check-config", file.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        check(done.returncode == 0, f"{what}: {done.stdout.strip()}")


def values(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


# ---- the sample

def sample():
    text = (DEPLOY / "musterd.properties").read_text(encoding="utf-8")
    try_config(text, "musterd.properties")
    try_config(re.sub(r"^#([a-z.]+=)", r"\1", text, flags=re.M), "musterd.properties with all that is commented out")
    said = subprocess.run([MUSTERD, "--help-config"], stdout=subprocess.PIPE, text=True, check=True).stdout
    defaults = dict(re.findall(r"^  ([a-z.]+)=(\S*)", said, flags=re.M))
    for key, value in re.findall(r"^#([a-z.]+)=(\S+)$", text, flags=re.M):
        example = "muster-1.example" in value or key == "broker.rack"
        check(example or defaults.get(key) == value, f"musterd.properties shows {key}={value} as if it were the default, {defaults.get(key)}")
    nodes = values(text)["muster.peers"].split(",")
    check(len(nodes) == 3, "musterd.properties: three nodes")
    for node in nodes:  # as the comments say: change the lines marked (*)
        number, peer = node.split("@")
        host = peer.split(":")[0]
        other = text.replace("node.id=1\n", f"node.id={number}\n").replace("=10.0.0.1:", f"={host}:").replace("//10.0.0.1:", f"//{host}:")
        try_config(other, f"musterd.properties of node {number}")


# ---- systemd

def unit():
    path = DEPLOY / "musterd.service"
    settings = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            settings[key] = value
    wanted = {"Type": "notify", "NotifyAccess": "main", "KillSignal": "SIGTERM", "Restart": "on-failure", "NoNewPrivileges": "yes",
              "ProtectSystem": "strict", "PrivateTmp": "yes", "User": "muster", "StateDirectory": "muster", "CapabilityBoundingSet": ""}
    for key, value in wanted.items():
        check(settings.get(key) == value, f"musterd.service: {key}={settings.get(key)}, not {value}")
    check(int(settings["WatchdogSec"]) >= 10, "musterd.service: WatchdogSec")
    check(int(settings["TimeoutStopSec"]) >= GRACE_SECONDS, "musterd.service: TimeoutStopSec")
    codes = set(settings["RestartPreventExitStatus"].split())
    usage = subprocess.run([MUSTERD, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    check({"2", "3", "4", "7", "8", "70"} <= codes, f"musterd.service: {codes}: of what starting again does not mend, something is missing")
    check(codes <= set(re.findall(r"^ +([0-9]+)  ", usage, re.M)), f"musterd.service: {codes}: not all are exit codes of musterd")
    check("AF_UNIX" in settings["RestrictAddressFamilies"], "musterd.service: the notify socket is of AF_UNIX")
    done = subprocess.run(["systemd-analyze", "verify", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    wrong = [line for line in done.stdout.splitlines() if "musterd.service" in line and "is not executable" not in line]
    check(not wrong, f"systemd-analyze: {wrong}")


# ---- containers

def made_by(script, environment, what):
    """The configuration that a container's shell script makes, before it would become musterd."""
    with tempfile.TemporaryDirectory() as folder:
        etc = Path(folder) / "etc"
        etc.mkdir()
        (etc / "musterd.properties").write_text(environment.pop("CONFIG", ""), encoding="utf-8")
        (Path(folder) / "musterd").write_text('#!/bin/sh\nfor last; do :; done\ncat "$last"\n', encoding="utf-8")
        (Path(folder) / "musterd").chmod(0o755)
        script = script.replace("$$", "$").replace("/tmp/", f"{folder}/").replace("/etc/muster", str(etc)).replace("/run/muster", folder)
        done = subprocess.run(["/bin/sh", "-euc", script], env={"PATH": f"{folder}:{os.environ['PATH']}", **environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        check(done.returncode == 0, f"{what}: its script: {done.stdout.strip()}")
        return done.stdout


def containerfile():
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    check(re.search(r"^USER [1-9]", text, re.M), "Containerfile: not as root")
    check(re.search(r'^ENTRYPOINT \["/usr/bin/musterd"\]', text, re.M), "Containerfile: musterd is to be process 1, so that it gets the signals")
    check(re.search(r"^STOPSIGNAL SIGTERM", text, re.M), "Containerfile: STOPSIGNAL")
    for name in re.findall(r"(scripts/[a-z]+)", text):
        check((DEPLOY.parent / name).exists(), f"Containerfile: there is no {name}")


def compose():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    peers, outside = set(), []
    for name, service in services.items():
        text = made_by(service["command"][0], dict(service.get("environment", {})), f"compose.yaml: {name}")
        try_config(text, f"compose.yaml: {name}")
        peers.add(values(text)["muster.peers"])
        if name == "form":
            check("musterd form" in service["command"][0], "compose.yaml: form forms")
            continue
        outside += [port.split(":")[-2] for port in service["ports"]]
        check([port for port in service["ports"] if port.endswith(":9094")] == [port for port in service["ports"] if port.startswith("127.0.0.1:")],
              f"compose.yaml: {name}'s admin port, and no other, is for this machine alone")
        check(f"{values(text)['node.id']}@{name}:9093" in values(text)["muster.peers"], f"compose.yaml: {name} is not among the peers")
        inside = values(text)["listeners"].rsplit(":", 1)[1]
        check(f"{inside}:{inside}" in service["ports"] and values(text)["advertised.listeners"].endswith(f":{inside}"), f"compose.yaml: {name}'s port")
        check(int(service["stop_grace_period"].rstrip("s")) >= GRACE_SECONDS, f"compose.yaml: {name}: stop_grace_period")
        check(any(volume.endswith(":/var/lib/muster") for volume in service["volumes"]), f"compose.yaml: {name} keeps its data")
    check(len(peers) == 1, f"compose.yaml: different peers: {peers}")
    check(len(set(outside)) == len(outside) == 6, f"compose.yaml: ports: {outside}")


def before_stop(command, grace_s):
    """preStop, with another process in the place of process 1: it is told to end, and the script ends when it has."""
    check(command[:2] == ["/bin/sh", "-c"] and " 1;" in command[2], f"kubernetes: preStop: {command}")
    with subprocess.Popen(["/bin/sh", "-c", "trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done"]) as node:
        begun = time.monotonic()
        threading.Thread(target=node.wait, daemon=True).start()  # as a container's end takes process 1 away
        subprocess.run([*command[:2], re.sub(r"\b1;", f"{node.pid};", command[2])], check=False, timeout=30, stderr=subprocess.DEVNULL)
        took_s = time.monotonic() - begun
        check(node.poll() is not None, "kubernetes: preStop has ended before the node")
        node.kill()
    check(3 <= took_s and grace_s >= took_s + GRACE_SECONDS, f"kubernetes: preStop takes {took_s} s of {grace_s}")


def stateful_set(kinds):
    whole = kinds["StatefulSet"][0]
    spec, pod = whole["spec"], whole["spec"]["template"]["spec"]
    container = pod["containers"][0]
    headless = next(s for s in kinds["Service"] if s["metadata"]["name"] == spec["serviceName"])
    check(headless["spec"]["clusterIP"] == "None" and headless["spec"]["publishNotReadyAddresses"] is True, "kubernetes: peers dial pods, ready or not")
    config = kinds["ConfigMap"][0]["data"]["musterd.properties"]
    names = [f"{n + 1}@{whole['metadata']['name']}-{n}.{spec['serviceName']}:9093" for n in range(spec["replicas"])]
    check(values(config)["muster.peers"] == ",".join(names), f"kubernetes: muster.peers are not the pods' names: {names}")
    check(spec["podManagementPolicy"] == "Parallel", "kubernetes: nodes become ready together or not at all")
    for kind, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
        check(container[kind]["httpGet"] == {"path": path, "port": "admin"}, f"kubernetes: {kind}")
    check(container["startupProbe"]["periodSeconds"] * container["startupProbe"]["failureThreshold"] >= 300, "kubernetes: patience at the start")
    check(container["livenessProbe"]["periodSeconds"] * container["livenessProbe"]["failureThreshold"] >= 30, "kubernetes: patience afterwards")
    before_stop(container["lifecycle"]["preStop"]["exec"]["command"], pod["terminationGracePeriodSeconds"])
    check("exec musterd --config" in container["args"][0], "kubernetes: musterd has to get the signals")
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    check(mounts == {v["name"] for v in pod["volumes"]} | {v["metadata"]["name"] for v in spec["volumeClaimTemplates"]}, "kubernetes: volumes")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    check(values(config)["muster.admin.listener"] == f":{ports['admin']}" and values(config)["muster.peer.listener"] == f":{ports['peers']}", "kubernetes: ports")
    for n in range(spec["replicas"]):
        text = made_by(container["args"][0], {"HOSTNAME": f"{whole['metadata']['name']}-{n}", "NAMESPACE": "default", "CONFIG": config}, "kubernetes: pod")
        try_config(text, f"kubernetes: pod {n}")
        check(values(text).get("node.id") == str(n + 1), f"kubernetes: pod {n}: node.id")
    return spec["selector"]["matchLabels"], config


def yaml_files():
    rules = "{extends: default, rules: {line-length: disable, document-start: disable, comments: {min-spaces-from-content: 1}, braces: {max-spaces-inside: 1}}}"
    files = [str(path) for path in sorted(DEPLOY.rglob("*.yaml"))]
    done = subprocess.run(["yamllint", "--strict", "-d", rules, *files], stdout=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0 and len(files) == 2, f"yamllint: {done.stdout}")


def kubernetes():
    kinds = {}
    for document in yaml.safe_load_all((DEPLOY / "kubernetes/muster.yaml").read_text(encoding="utf-8")):
        kinds.setdefault(document["kind"], []).append(document)
    labels, config = stateful_set(kinds)
    budget = kinds["PodDisruptionBudget"][0]["spec"]
    check(budget["maxUnavailable"] == 1 and budget["selector"]["matchLabels"] == labels, "kubernetes: PodDisruptionBudget")
    for service in kinds["Service"]:
        check(service["spec"]["selector"] == labels, f"kubernetes: service {service['metadata']['name']}")
    job = kinds["Job"][0]["spec"]["template"]
    check(job["metadata"]["labels"] != labels, "kubernetes: the job's pod is no node")
    script = job["spec"]["containers"][0]["args"][0]
    check("exec musterd form" in script, "kubernetes: the job forms")
    try_config(made_by(script, {"CONFIG": config}, "kubernetes: job"), "kubernetes: job")


def main():
    global MUSTERD
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] == ["--help"] else 2
    MUSTERD = sys.argv[1]
    for part in (sample, unit, containerfile, compose, yaml_files, kubernetes):
        part()
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
