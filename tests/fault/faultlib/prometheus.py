"""A strict reader of Prometheus' text form (version 0.0.4): whatever a lenient one would let pass is an error here."""
import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\S+)\Z')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
TYPES = ("counter", "gauge", "histogram")


class Malformed(Exception):
    """The text is not what Prometheus asks for."""


def need(condition, text):
    if not condition:
        raise Malformed(text)


def _number(text):
    need(re.fullmatch(r"[0-9]+(\.[0-9]+)?|\+Inf", text), f"not a number of ours: {text!r}")
    return math.inf if text == "+Inf" else float(text)


class Family:
    def __init__(self, name, help_text):
        self.name = name
        self.help = help_text
        self.type = None
        self.samples = {}  # (name, ((label, value)..)): number

    def value(self, **labels):
        """Of the one sample with these labels; None: there is none."""
        return self.samples.get((self.name, tuple(sorted(labels.items()))))

    def sum(self):
        return sum(self.samples.values())


def _without_bound(labels):
    return tuple(pair for pair in labels if pair[0] != "le")


def _check_histogram(family):
    for series in {_without_bound(labels) for _, labels in family.samples}:
        _check_series(family, series)


def _check_series(family, series):
    buckets = [(dict(labels)["le"], value) for (name, labels), value in family.samples.items()
               if name == family.name + "_bucket" and _without_bound(labels) == series]
    need(buckets and buckets[-1][0] == "+Inf", f"{family.name}: its last bucket is not +Inf")
    bounds, counts = [_number(le) for le, _ in buckets], [value for _, value in buckets]
    need(bounds == sorted(set(bounds)), f"{family.name}: bounds do not rise: {bounds}")
    need(counts == sorted(counts), f"{family.name}: buckets are not cumulative: {counts}")
    need(family.samples.get((family.name + "_count", series)) == counts[-1], f"{family.name}: _count is not its last bucket")
    need((family.name + "_sum", series) in family.samples, f"{family.name}: no _sum")


def parse(text):
    """{name: Family}. Every family has HELP, then TYPE, then its samples, all together and once."""
    families, current = {}, None
    need(text.endswith("\n"), "the last line has no end")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            _, _, name, help_text = line.split(" ", 3)
            need(NAME.match(name) and name not in families, f"HELP twice, or of a wrong name: {line}")
            need(help_text.strip() == help_text and help_text.endswith("."), f"a help text is a sentence: {line}")
            need(current is None or current.samples, f"{current.name if current else ''}: a head without samples")
            current = families[name] = Family(name, help_text)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            need(current and name == current.name and current.type is None and not current.samples, f"TYPE at a wrong place: {line}")
            need(kind in TYPES, f"unknown type: {line}")
            current.type = kind
        else:
            match = SAMPLE.match(line)
            need(match, f"not a sample: {line!r}")
            name, labels, number = match.groups()
            pairs = LABEL.findall(labels or "")
            parts = [current.name + part for part in ("_bucket", "_sum", "_count")] if current and current.type == "histogram" else [current.name]
            need(current and current.type and name in parts, f"a sample outside its family: {line}")
            need(len({key for key, _ in pairs}) == len(pairs), f"a label twice: {line}")
            key = (name, tuple(sorted(pairs)))
            need(key not in current.samples, f"the same series twice: {line}")
            current.samples[key] = _number(number)
    need(current and current.samples, "nothing, or a head without samples at the end")
    for family in families.values():
        need(len({tuple(k for k, _ in labels if k != "le") for _, labels in family.samples}) == 1, f"{family.name}: series with different labels")
        if family.type == "histogram":
            _check_histogram(family)
    return families
