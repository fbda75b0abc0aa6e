"""What members of streams and of consumer groups have in common: a connection, an epoch, one heartbeat after another."""
import time

NEWS_SECONDS = 2.0


class Member:
    """A member on a connection of its own. Requests go out with its epoch, lists with what it holds."""

    api = None

    def __init__(self, t, group, name, instance, rebalance, version, more):
        self.t = t
        self.group = group
        self.id = name
        self.instance = instance
        self.rebalance = rebalance
        self.version = version
        self.more = more
        self.epoch = 0
        self.conn = t.conn(name.upper(), group)

    def base(self):
        """The fields of every heartbeat."""
        return {"GroupId": self.group, "MemberId": self.id, "MemberEpoch": self.epoch, "InstanceId": self.instance}

    def take(self, answer, step):
        """Keeps what an answer gives, and writes it down."""

    def send(self, **fields):
        """One heartbeat of these fields; a field of None is left out."""
        fields = {k: v for k, v in {**self.base(), **fields}.items() if v is not None}
        wait_for_topics(self.t)
        pending = self.conn.send(self.api, self.version, **fields)
        answer = pending.wait()
        if answer.get("ErrorCode") == 0:
            self.epoch = answer["MemberEpoch"]
            self.take(answer, pending.step)
        return answer

    def beat(self, **fields):
        return self.send(**fields)

    def ack(self, **fields):
        """A heartbeat that tells what it holds: confirms a revocation."""
        return self.send(**{**self.report(), **fields})

    def leave(self, epoch=-1, **fields):
        return self.send(MemberEpoch=epoch, **fields)


def wait_for_topics(t):
    """A coordinator hears of a change of topics a while after clients see it."""
    t.pause(max(0.0, t.topics_changed + NEWS_SECONDS - time.monotonic()))


def quietly(member, *names):
    """Requests of a member outside the transcript, by the names of its methods."""
    member.conn.recorded = False
    for name in names:
        getattr(member, name)()
    member.conn.recorded = True


def settle(*members, rounds=3):
    """Heartbeats outside the transcript until every member has what it should have."""
    for _ in range(rounds):
        for member in members:
            quietly(member, "beat", "ack")


def group_config(t, group, prefix, **configs):
    """Sets configs of a group outside the transcript and waits until they are in force. None: back to the default."""
    rows = [{"Name": f"{prefix}.{k}", "ConfigOperation": 1 if v is None else 0, "Value": v} for k, v in configs.items()]
    answer = t.quiet().ask("IncrementalAlterConfigs", 1, ValidateOnly=False,
                           Resources=[{"ResourceType": 32, "ResourceName": group, "Configs": rows}])
    if not answer or answer["Responses"][0]["ErrorCode"] != 0:
        raise ValueError(f"config refused: {configs} {answer}")
    t.pause(0.6)
