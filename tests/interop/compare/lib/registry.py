"""The request scripts, by name, and the broker settings they want."""

# One cluster is started per profile; both systems get the same settings.
PROFILES = {
    "base": {"group.initial.rebalance.delay.ms": "0"},
    "delay": {"group.initial.rebalance.delay.ms": "2000"},
    "limits": {
        "group.initial.rebalance.delay.ms": "0",
        "group.max.size": "4",
        "group.min.session.timeout.ms": "1000",
        "group.max.session.timeout.ms": "20000",
        "offset.metadata.max.bytes": "64",
    },
    "retention": {
        "group.initial.rebalance.delay.ms": "0",
        "offsets.retention.minutes": "1",
        "offsets.retention.check.interval.ms": "2000",
    },
    "streams": {
        "group.initial.rebalance.delay.ms": "0",
        "group.streams.initial.rebalance.delay.ms": "0",
        "group.streams.assignment.interval.ms": "0",
    },
    "streams-limits": {
        "group.streams.initial.rebalance.delay.ms": "0",
        "group.streams.assignment.interval.ms": "0",
        "group.streams.max.size": "3",
        "group.streams.min.session.timeout.ms": "1000",
        "group.streams.session.timeout.ms": "3000",
        "group.streams.min.heartbeat.interval.ms": "100",
        "group.streams.heartbeat.interval.ms": "500",
    },
    "consumer": {
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.assignment.interval.ms": "0",
    },
    "consumer-limits": {
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.max.size": "3",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": "3000",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.consumer.regex.refresh.interval.ms": "10000",
    },
}

MIXED = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000",
         "group.consumer.min.heartbeat.interval.ms": "100",
         "group.consumer.assignment.interval.ms": "0", "group.consumer.min.session.timeout.ms": "1000"}
PROFILES |= {
    "mixed": MIXED,
    "mixed-interval": MIXED | {"group.consumer.assignment.interval.ms": "1000", "group.initial.rebalance.delay.ms": "2000"},
    "mixed-upgrade": MIXED | {"group.consumer.migration.policy": "upgrade"},
    "mixed-downgrade": MIXED | {"group.consumer.migration.policy": "downgrade"},
    "mixed-disabled": MIXED | {"group.consumer.migration.policy": "disabled"},
    "mixed-limits": MIXED | {"group.max.size": "2", "group.consumer.max.size": "4"},
    "mixed-small": MIXED | {"group.max.size": "5", "group.consumer.max.size": "3"},
}

SCRIPTS = {}


class Script:
    def __init__(self, name, profile, function):
        self.name = name
        self.profile = profile
        self.function = function
        self.about = " ".join((function.__doc__ or "").split())


def script(name, profile="base"):
    """Registers a function of a Session as a request script."""
    def register(function):
        if name in SCRIPTS:
            raise ValueError(f"two scripts named {name}")
        SCRIPTS[name] = Script(name, profile, function)
        return function
    return register
