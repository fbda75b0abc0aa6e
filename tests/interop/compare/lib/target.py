"""The two systems under comparison: Apache Kafka through scripts/kafka-reference, muster through scripts/cluster."""
import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


# Two clusters on a busy machine: no elections in the middle of a script, which would answer NOT_COORDINATOR.
CALM = {"muster.election.timeout.ms": "3000", "muster.group.heartbeat.adaptive": "false",
        "muster.group.consumer.heartbeat.hold.ms": "0"}


def addresses(text):
    return [(host, int(port)) for host, port in (part.rsplit(":", 1) for part in text.replace(",", " ").split())]


class Running:
    """A cluster that somebody else started."""

    def __init__(self, bootstrap):
        self.bootstrap = addresses(bootstrap)

    def start(self, settings):
        pass

    def stop(self):
        pass


class Kafka:
    def __init__(self, offset):
        self.environment = dict(os.environ, PORT_OFFSET=str(offset), HEAP="-Xms256m -Xmx768m")
        self.command = [str(ROOT / "scripts/kafka-reference")]
        self.bootstrap = [("127.0.0.1", 19092 + offset)]

    def start(self, settings):
        self.environment["EXTRA"] = "\n".join(f"{k}={v}" for k, v in settings.items())
        subprocess.run(self.command + ["start", "--fresh", "1"], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)

    def stop(self):
        subprocess.run(self.command + ["stop"], env=self.environment, check=True)


class Muster:
    def __init__(self, folder, base_port):
        self.folder = Path(folder)
        self.base_port = base_port
        self.command = str(ROOT / "scripts/cluster")
        self.round = 0
        self.bootstrap = []

    def _run(self, *words, **options):
        return subprocess.run([self.command, words[0], "--dir", str(self.current), *words[1:]], check=True,
                              **options)

    def start(self, settings):
        self.round += 1
        self.current = self.folder / f"round-{self.round}-{time.time_ns() % 10**9}"
        words = ["start", "--nodes", "3", "--base-port", str(self.base_port)]
        for key, value in (settings | CALM).items():
            words += ["--set", f"{key}={value}"]
        self._run(*words, stdout=subprocess.DEVNULL)
        self._run("wait", stdout=subprocess.DEVNULL)
        out = self._run("bootstrap", stdout=subprocess.PIPE, text=True).stdout
        self.bootstrap = addresses(out)

    def stop(self):
        self._run("stop", stdout=subprocess.DEVNULL)
