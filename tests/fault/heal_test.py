#!/usr/bin/env python3
"""All cables between the nodes are cut and mended: the cluster serves again soon after, however long the cut was.

TCP asks again after waits that double, so a connection that outlives a cut of some seconds is of no use for as many seconds more. Nodes must not
wait for that.
"""
import time

from faultlib.load import World, patient
from faultlib.network import SwitchedCluster
from faultlib.story import check, main, say

CUTS_S = (1.6, 3.4, 6.6)     # just behind the moments when TCP asks again
SERVED_S = 2.5               # about a second is expected


def run(test):
    cluster = SwitchedCluster(test.folder / "cluster", test.port, test.bin)
    test.clusters.append(cluster)
    cluster.start()
    cluster.client().create_topic("t", 10000)
    world = World(cluster.addresses())
    committers = patient(world, "t", 12)
    slack = 3 if test.sanitized() else 1
    for seconds in CUTS_S:
        cluster.everywhere(cluster.CUT)
        world.run(seconds)
        for c in committers:
            c.acks, c.keep_acks = [], True
        cluster.everywhere(cluster.WHOLE)
        mended = time.monotonic()
        served = world.run(30, lambda: all(c.acks for c in committers))
        took = time.monotonic() - mended
        check(served and took < SERVED_S * slack, f"after a cut of {seconds} s it took {took:.1f} s until all groups were served")
        check(not world.broken, "; ".join(world.broken))
        say(f"all cables cut for {seconds} s: every group is served {1000 * took:.0f} ms after they were mended")
        world.run(1)
    world.close()


if __name__ == "__main__":
    main(run, 25376, namespaces=("--net", "--mount"))
