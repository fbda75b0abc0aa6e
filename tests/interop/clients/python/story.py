"""What the Python programs share: the environment, the story they print, the way they end."""
import os
import subprocess
import sys
import traceback

BOOTSTRAP = os.environ["BOOTSTRAP"]
RUN = os.environ["RUN"]
WAIT = 30.0
COMMITTED = 5


class Failed(Exception):
    """The group did not do what it should."""


def say(text):
    print(text, flush=True)


def hook(name, argument):
    program = os.environ.get(name)
    if program and subprocess.run([program, argument], check=False).returncode != 0:
        raise Failed(f"{program} {argument}: failed")


def tell(life):
    try:
        life()
    except Exception as error:  # whatever it is, the run has failed and says why
        say(f"FAILED: {type(error).__name__}: {error}")
        traceback.print_exc()
        sys.exit(1)
