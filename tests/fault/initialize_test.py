#!/usr/bin/env python3
"""StreamsGroupInitialize in each of its uses (tests/fault/initialize_client.c), with the coordinators killed and all nodes started again afterwards."""
import subprocess

from faultlib.story import Failed, main, say, until


def drive(test, cluster, stage):
    program = test.bin / "tests" / "initialize_client"
    done = subprocess.run([program, ",".join(f"{host}:{port}" for host, port in cluster.addresses()), stage], capture_output=True, text=True,
                          timeout=120, check=False)
    for line in (done.stdout + done.stderr).splitlines():
        say(f"{stage}: {line}")
    if done.returncode != 0:
        raise Failed(f"initialize_client {stage} ended with {done.returncode}")


def run(test):
    cluster = test.cluster().start()
    client = cluster.client()
    drive(test, cluster, "before")
    for group in ("init-member", "init-empty"):
        node = cluster.coordinator(client, group)
        cluster.kill(node)
        until("the rest serves", lambda group=group, node=node: cluster.coordinator(client, group) not in (None, node), 20)
        cluster.restart(node)
        cluster.wait()
    drive(test, cluster, "after")
    cluster.kill(1, 2, 3)
    cluster.run("start")
    cluster.wait()
    drive(test, cluster, "after")


if __name__ == "__main__":
    main(run, 25392)
