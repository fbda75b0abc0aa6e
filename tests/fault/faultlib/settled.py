"""Members of consumer and streams groups that go on heartbeating and committing, whatever else happens: nothing is to change for them."""
from .consumer import ConsumerMember
from .load import Committer
from .modern import ModernBeater
from .story import check_equal
from .streams import StreamsMember, topology


def go_on(world, member, pace=0.05, beat=0.2):
    """A member that asked for one partition, of which it has all it gets; whoever commits for it, its beater is in the world."""
    member.settle(1)
    member.confirm()
    ModernBeater(world, member, beat)
    return Committer(world, member.group, "t", pace, member.epoch, member.member, version=9)


class Settled:
    """Some groups of each kind, of one member, of topics that it makes. Begins at once."""

    def __init__(self, world, client, topic="settled", count=2):
        client.create_topic(topic, 1)
        made = [join for n in range(count)
                for join in (ConsumerMember(client, f"{topic}-consumer-{n}").join(topic), StreamsMember(client, f"{topic}-streams-{n}").join(topology(topic)))]
        others = set(world.actors)
        self.committers = [go_on(world, member) for member in made]
        self.members = [(member, member.epoch) for member in made]
        for actor in set(world.actors) - others:
            actor.begin()

    def check(self, when):
        for member, epoch in self.members:
            row = member.describe()
            check_equal([(m["MemberId"], m["MemberEpoch"]) for m in row["Members"]], [(member.member, epoch)], f"{when}: members of {member.group}")
