#!/usr/bin/env python3
"""`cmake --install` into an empty folder: the programs run from there, each command has its manual page, which man shows without a warning, and the shells take the completion.

    tests/unit/install/install_test.py CMAKE BUILD
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def run(*words, **options):
    return subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)


def programs(usr):
    for name in ("muster", "musterd"):
        done = run(usr / "bin" / name, "--help")
        check(done.returncode == 0 and "Usage" in done.stdout or name in done.stdout, f"{name} --help: {done.returncode}: {done.stdout[:200]}")


def pages_wanted(usr):
    """muster(1), and one for each NOUN VERB that --help lists."""
    lines = [line.split() for line in run(usr / "bin/muster", "--help").stdout.splitlines() if line.startswith("  muster ")]
    return {"muster.1"} | {f"muster-{words[1]}-{words[2]}.1" for words in lines}


def manual(usr):
    folder = usr / "share/man/man1"
    pages = sorted(folder.glob("*.1"))
    wanted = pages_wanted(usr)
    check("muster-log-verify.1" in wanted, f"commands are not read: {sorted(wanted)}")
    check({p.name for p in pages} == wanted, f"pages and commands: {sorted({p.name for p in pages} ^ wanted)}")
    pages.append(usr / "share/man/man8/musterd.8")
    check(pages[-1].exists(), "musterd has no manual page")
    keys = [line.strip().split("=")[0].split()[0] for line in run(usr / "bin/musterd", "--help-config").stdout.splitlines()
            if line.startswith("  ") and line[2] != " "]
    plain = pages[-1].read_text(encoding="utf-8").replace("\\-", "-")
    check(len(keys) > 50 and all(key in plain for key in keys), f"keys that musterd(8) lacks: {[key for key in keys if key not in plain]}")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        check(text.startswith(".TH ") or "\n.TH " in text[:200], f"{page.name} begins with no title")
        check(all(f".SH {title}" in text for title in ("NAME", "SYNOPSIS")), f"{page.name} lacks a section")
    if shutil.which("groff"):
        for page in pages:
            done = run("groff", "-man", "-Tutf8", "-ww", "-z", page)
            check(done.returncode == 0 and done.stdout == "", f"{page.name}: {done.stdout[:300]}")


def unit(usr):
    text = (usr / "lib/systemd/system/musterd.service").read_text(encoding="utf-8")
    check("ExecStart=/usr/bin/musterd " in text and "${" not in text, f"the unit does not start what is installed: {text[:400]}")
    with tempfile.TemporaryDirectory() as elsewhere:
        run(sys.argv[1], "--install", sys.argv[2], "--prefix", elsewhere)
        there = (Path(elsewhere) / "lib/systemd/system/musterd.service").read_text(encoding="utf-8")
        check(f"ExecStart={elsewhere}/bin/musterd " in there and "/usr/bin/musterd" not in there, f"the unit does not go by the prefix: {there[:400]}")


def completion(usr):
    bash = usr / "share/bash-completion/completions/muster"
    zsh = usr / "share/zsh/site-functions/_muster"
    check(run("bash", "-n", bash).stdout == "", "bash does not read its completion")
    script = f"source {bash}; COMP_WORDS=(muster log ver); COMP_CWORD=2; COMPREPLY=(); _muster; echo ${{COMPREPLY[*]}}"
    done = run("bash", "-c", script)
    check(done.stdout.split() == ["verify"], f"bash completes 'log ver' with {done.stdout!r}")
    check(zsh.read_text(encoding="utf-8").startswith("#compdef muster\n"), "zsh does not know what its completion is for")
    if shutil.which("zsh"):
        check(run("zsh", "-n", zsh).stdout == "", "zsh does not read its completion")


def main():
    cmake, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        done = run(cmake, "--install", build, "--prefix", "/usr", env={**os.environ, "DESTDIR": folder})
        if done.returncode != 0:
            sys.exit(f"cmake --install: {done.stdout}")
        usr = Path(folder) / "usr"
        check([p.name for p in Path(folder).iterdir()] == ["usr"], f"besides usr: {list(Path(folder).iterdir())}")
        for part in (programs, manual, unit, completion):
            part(usr)
        for read in ("lib/systemd/system/musterd.service", "share/doc/muster/README.md", "share/doc/muster/musterd.properties"):
            check((usr / read).is_file(), f"{read} is not installed")
    for text in failures:
        print(text)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
