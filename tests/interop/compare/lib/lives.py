"""Random lives, many at a time: the same requests to Apache Kafka and to muster, answers compared."""
import argparse
import concurrent.futures
import random
import tempfile
import threading
import time
from pathlib import Path

from . import schema, target
from .life import Differs
from .play import TASKS, Broken, Side, Wire
from .registry import PROFILES

SHARED = {"big": "big", "other": "other", "log": "log"}
# empty groups stay until their life deletes them
CALM = {"offsets.retention.check.interval.ms": "3600000"}


def kind_of(cls, seed):
    return cls.KINDS[random.Random(seed * 7919 + 1).randrange(len(cls.KINDS))]


def prepare(cls, side, seeds):
    """The topics that all groups read, and each group's own configs."""
    rows = [{"Name": side.prefix + name, "NumPartitions": TASKS["big"], "ReplicationFactor": 1} for name in SHARED.values()]
    side.wire.ask("CreateTopics", 5, {"Topics": rows, "TimeoutMs": 20000})
    for at in range(0, len(seeds), 200):
        resources = []
        for seed in seeds[at:at + 200]:
            configs = cls.configs(seed, kind_of(cls, seed))
            resources.append({"ResourceType": 32, "ResourceName": side.prefix + f"life-{seed}", "Configs": [
                {"Name": k, "ConfigOperation": 0, "Value": v} for k, v in configs.items()]})
        side.wire.ask("IncrementalAlterConfigs", 1, {"Resources": resources, "ValidateOnly": False})


class Runner:
    def __init__(self, cls, options, kafka, muster):
        self.cls = cls
        self.options = options
        self.schemas = schema.load_msg(target.ROOT / "src/wire")
        self.places = (("kafka", kafka.bootstrap), ("muster", muster.bootstrap))
        self.prefix = f"r{random.SystemRandom().randrange(16 ** 5):05x}-"
        self.lock = threading.Lock()
        self.steps = 0
        self.lapses = self.answers = self.loosened = 0
        self.bad = {}

    def sides(self):
        return [Side(name, Wire(bootstrap, self.schemas), self.prefix) for name, bootstrap in self.places]

    def one(self, seed):
        sides = self.sides()
        life = self.cls(seed, sides, kind_of(self.cls, seed), SHARED)
        try:
            life.live(self.options.steps)
        except (Differs, Broken) as reason:
            self.note(life, f"step {life.steps}: {reason}")
        except Exception as error:  # an answer of any form may break a life; that is a difference, not the end of the run
            self.note(life, f"step {life.steps}: {type(error).__name__}: {error}")
        finally:
            for side in sides:
                side.wire.close()
        with self.lock:
            self.steps += life.steps
            self.lapses += life.lapses
            self.answers += life.answers
            self.loosened += life.loosened

    def note(self, life, reason):
        with self.lock:
            self.bad[life.seed] = (reason, life.log)
            if self.options.logs:
                Path(self.options.logs, f"{life.seed}.txt").write_text("\n".join(life.log + [reason, ""]), encoding="utf-8")

    def run(self):
        seeds = list(range(self.options.first, self.options.first + self.options.seeds))
        for side in self.sides():
            prepare(self.cls, side, seeds)
        time.sleep(2)
        for side in self.sides():
            for at in range(20):
                self.cls.until_known(side, f"life-probe-{at}", SHARED.values())
            side.wire.close()
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(self.one, seeds))
        if self.bad:
            first = min(self.bad)
            print("\n".join(self.bad[first][1]))
            print(f"seed {first} ({kind_of(self.cls, first)}): {self.bad[first][0]}")
            for seed in sorted(self.bad)[1:]:
                print(f"seed {seed} ({kind_of(self.cls, seed)}): {self.bad[seed][0][:300]}")
        print(f"{len(seeds)} lives from seed {seeds[0]}, {self.steps} steps in {time.monotonic() - began:.0f} s: "
              f"{len(self.bad)} differ, {self.lapses} lapses of Kafka; of {self.loosened} of {self.answers} heartbeats it was the "
              f"assignor's choice what they gave")
        return 1 if self.bad else 0


def main(cls, about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=32)
    parser.add_argument("--logs", metavar="DIR", help="writes each life that differs, request by request, into this folder")
    parser.add_argument("--kafka", metavar="HOST:PORT")
    parser.add_argument("--muster", metavar="HOST:PORT,...")
    parser.add_argument("--kafka-offset", type=int, default=300)
    parser.add_argument("--base-port", type=int, default=15092)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lives-") as folder:
        kafka = target.Running(options.kafka) if options.kafka else target.Kafka(options.kafka_offset)
        muster = target.Running(options.muster) if options.muster else target.Muster(folder, options.base_port)
        settings = PROFILES["base"] | CALM
        try:
            kafka.start(settings)
            muster.start(settings)
            return Runner(cls, options, kafka, muster).run()
        finally:
            kafka.stop()
            muster.stop()
