"""Transcripts as text files, and their comparison.

    # name: what the script shows
    # broker: key=value ...

    -- a sentence
    [3] A JoinGroup v9 GroupId="g" ...
        ErrorCode: 0 NONE
        ...
"""
import fnmatch
from dataclasses import dataclass, field as dataclass_field


@dataclass
class Row:
    title: str
    request: str
    comment: str = None
    lines: list = dataclass_field(default_factory=list)


def write(path, script, settings, rows):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"# {script.name}: {script.about}\n")
        out.write("# broker: " + " ".join(f"{k}={v}" for k, v in settings.items()) + "\n")
        for idx, row in enumerate(rows, 1):
            out.write("\n")
            if row.comment:
                out.write(f"-- {row.comment}\n")
            out.write(f"[{idx}] {row.title}" + (f" | {row.request}" if row.request else "") + "\n")
            for name, value in row.lines:
                out.write(f"    {name}: {value}\n")


def read(path):
    rows = []
    with open(path, encoding="utf-8") as text:
        for line in text:
            line = line.rstrip("\n")
            if line.startswith("["):
                title, _, request = line.split("] ", 1)[1].partition(" | ")
                rows.append(Row(title, request))
            elif line.startswith("    "):
                name, _, value = line[4:].partition(": ")
                rows[-1].lines.append((name, value))
    return rows


@dataclass
class Difference:
    """One answer field that differs. step is `script:number title`."""
    step: str
    path: str
    kafka: str
    muster: str


ABSENT = "(absent)"


def compare(script, kafka, muster):
    """All differences between two runs of one script."""
    found = []
    for idx in range(max(len(kafka), len(muster))):
        left = kafka[idx] if idx < len(kafka) else None
        right = muster[idx] if idx < len(muster) else None
        title = (left or right).title
        step = f"{script}:{idx + 1} {title}"
        if left is None or right is None or left.title != right.title:
            found.append(Difference(step, "~step", _shown(left), _shown(right)))
            break
        if left.request != right.request:
            found.append(Difference(step, "~request", left.request, right.request))
        found += _compare_lines(step, left.lines, right.lines)
    return found


def _shown(row):
    """A step's title; of a script that broke off, why."""
    return ABSENT if row is None else ": ".join([row.title] + [text for path, text in row.lines if path == "~failed"])


PRESENT = "(present)"


def _elements(lines):
    """The array elements that lines speak of: every prefix of a path that ends in a bracket."""
    return {path[:at + 1] for path, _ in lines for at, c in enumerate(path) if c == "]"}


def _missing(path, elements):
    """The outermost element of a path that the other side does not have, or the path itself."""
    for at, c in enumerate(path):
        if c == "]" and path[:at + 1] not in elements:
            return path[:at + 1]
    return path


def _compare_lines(step, left, right):
    first, second = dict(left), dict(right)
    ours, theirs = _elements(right), _elements(left)
    found = {}
    for path, value in left:
        if path in second:
            if second[path] != value:
                found[path] = Difference(step, path, value, second[path])
            continue
        name = _missing(path, ours)
        found.setdefault(name, Difference(step, name, value if name == path else PRESENT, ABSENT))
    for path, value in right:
        if path not in first:
            name = _missing(path, theirs)
            found.setdefault(name, Difference(step, name, ABSENT, value if name == path else PRESENT))
    if not found and [p for p, _ in left] != [p for p, _ in right]:
        return [Difference(step, "~order", "as sent", "another order")]
    return list(found.values())


@dataclass
class Listed:
    """A line of differences.txt: four patterns and the reason."""
    number: int
    step: str
    path: str
    kafka: str
    muster: str
    reason: str
    hits: int = 0

    def covers(self, d):
        return all(_matches(value, pattern) for value, pattern in (
            (d.step, self.step), (d.path, self.path), (d.kafka, self.kafka), (d.muster, self.muster)))


def _matches(value, pattern):
    """A shell pattern in which only * and ? are special: paths and values are full of brackets."""
    return fnmatch.fnmatchcase(value, pattern.replace("[", "[[]"))


def read_list(path):
    listed = []
    with open(path, encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            parts = [p.strip() for p in line.split(" | ")]
            if len(parts) != 5 or not parts[4]:
                raise ValueError(f"{path}:{number}: wants step | path | kafka | muster | reason")
            listed.append(Listed(number, *parts))
    return listed
