"""What the checks have in common: the list of files of the project, and C text without comments and literals.

As a program: prints the files whose names end with one of its arguments, or all."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
C_ENDINGS = (".c", ".h", ".cc")


def files(*endings):
    """Paths relative to the root of all files of the project (tracked or new, not ignored) with one of these endings; all without any."""
    try:
        listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        paths = listing.splitlines()
    except (OSError, subprocess.CalledProcessError):
        paths = [os.path.relpath(os.path.join(folder, name), ROOT)
                 for folder, folders, names in os.walk(ROOT) for name in names
                 if not os.path.relpath(folder, ROOT).startswith("build") and "/.git" not in folder and "__pycache__" not in folder]
    return sorted({p for p in paths if os.path.isfile(os.path.join(ROOT, p)) and (not endings or p.endswith(endings))})


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def bare(text):
    """C source in which comments, strings and characters are blanked, with the line numbers kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def rows(path):
    """Lines of a table file without comments and blank lines."""
    return [line.strip() for line in read(path).splitlines() if line.strip() and not line.startswith("#")]


if __name__ == "__main__":
    print("\n".join(files(*sys.argv[1:])))
