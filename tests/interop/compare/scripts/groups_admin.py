"""DescribeGroups, ListGroups, DeleteGroups."""
from lib.registry import script


@script("groups.describe")
def describe(t):
    """DescribeGroups in every version: unknown, simple, empty, with members; authorized operations; several at once."""
    group, simple, empty, none = t.group("full"), t.group("simple"), t.group("empty"), t.group("none")
    topic = t.topic("gd")
    (a, one), (b, two), generation = t.stable_pair(group)
    s, e, n = t.conn("S", simple), t.conn("E", empty), t.conn("N", none)
    t.commit(s, simple, [(topic, 0, 1)])
    member, _ = t.stable_one(e, empty, 3)
    t.leave(e, empty, [member])
    for version in range(0, 7):
        t.describe(a, group, version)
        t.describe(s, simple, version)
        t.describe(e, empty, version)
        t.describe(n, none, version)
    for version in (3, 6):
        for conn, name in ((a, group), (s, simple), (n, none)):
            conn.ask("DescribeGroups", version, Groups=[name], IncludeAuthorizedOperations=True)
    t.say("no groups, a group twice, the empty id")
    a.ask("DescribeGroups", 6, Groups=[])
    a.ask("DescribeGroups", 6, Groups=[group, group])
    a.ask("DescribeGroups", 0, Groups=[""])
    a.ask("DescribeGroups", 6, Groups=[""])


@script("groups.list")
def list_groups(t):
    """ListGroups in every version, with filters of states and types in several spellings."""
    topic = t.topic("gl")
    names = {n: t.group(n) for n in ("stable", "simple", "empty", "preparing", "completing")}
    conns = {n: t.conn(n.capitalize(), g) for n, g in names.items()}
    t.stable_one(conns["stable"], names["stable"], 3)
    t.commit(conns["simple"], names["simple"], [(topic, 0, 1)])
    member, _ = t.stable_one(conns["empty"], names["empty"], 3)
    t.leave(conns["empty"], names["empty"], [member])
    t.join(conns["completing"], names["completing"], 3, kind="connect", protocols=[("v1", b"")])
    member, _ = t.stable_one(conns["preparing"], names["preparing"], 3)
    extra = t.conn("Extra", names["preparing"])
    t.send_join(extra, names["preparing"], 3).still_waiting(0.3)
    for version in range(0, 6):
        t.list_groups(version)
    for states in (["Stable"], ["stable"], ["STABLE"], ["Empty", "PreparingRebalance"], ["CompletingRebalance"],
                   ["Dead"], ["Nonsense"], ["Nonsense", "Stable"], [""]):
        t.list_groups(4, StatesFilter=states)
        t.list_groups(5, StatesFilter=states, TypesFilter=[])
    for types in (["classic"], ["Classic"], ["CLASSIC"], ["consumer"], ["streams", "classic"], ["nonsense"],
                  ["nonsense", "classic"], [""]):
        t.list_groups(5, StatesFilter=[], TypesFilter=types)
    t.list_groups(5, StatesFilter=["Stable"], TypesFilter=["classic"])
    t.list_groups(5, StatesFilter=["Stable"], TypesFilter=["consumer"])


@script("groups.delete")
def delete(t):
    """DeleteGroups in every version: unknown, with members, empty, simple, several, the same twice."""
    topic = t.topic("gx")
    for version in range(0, 4):
        full, empty, simple, none = (t.group(f"{n}-{version}") for n in ("full", "empty", "simple", "none"))
        a, e, s, n = (t.conn(c, g) for c, g in zip("AESN", (full, empty, simple, none)))
        member, generation = t.stable_one(a, full, 3)
        t.commit(a, full, [(topic, 0, 1)], generation, member)
        gone, _ = t.stable_one(e, empty, 3)
        t.leave(e, empty, [gone])
        t.commit(s, simple, [(topic, 0, 1)])
        for conn, name in ((a, full), (e, empty), (s, simple), (n, none)):
            conn.ask("DeleteGroups", version, GroupsNames=[name])
        t.describe(e, empty)
        t.describe(s, simple)
        t.fetch(s, simple, {topic: [0]})
        e.ask("DeleteGroups", version, GroupsNames=[empty])
        t.beat(a, full, generation, member)
        t.fetch(a, full, {topic: [0]})
    t.say("none, and the empty id")
    a.ask("DeleteGroups", 2, GroupsNames=[])
    a.ask("DeleteGroups", 2, GroupsNames=[""])
    t.say("the same twice in one request")
    twice = t.group("twice")
    w = t.conn("W", twice)
    t.commit(w, twice, [(topic, 0, 1)])
    w.ask("DeleteGroups", 2, GroupsNames=[twice, twice])
    t.say("a group with nothing but an id given out")
    ids = t.group("ids")
    i = t.conn("I", ids)
    given = t.join(i, ids)["MemberId"]
    i.ask("DeleteGroups", 2, GroupsNames=[ids])
    t.join(i, ids, member=given)
    t.say("a deleted group comes back from its first generation on")
    again = t.group("again")
    g = t.conn("G", again)
    for _ in range(2):
        one, _ = t.stable_one(g, again, 3)
        t.leave(g, again, [one])
        g.ask("DeleteGroups", 2, GroupsNames=[again])


@script("groups.odd-names")
def odd_names(t):
    """Group ids of any form: a blank, other alphabets, line ends, a long one."""
    topic = t.topic("gn")
    for name in (" ", "\u0433\u0440\u0443\u043f\u043f\u0430", "a\nb", "a/b:c", "x" * 300):
        group = t.group(name)
        a = t.conn("A", group)
        t.commit(a, group, [(topic, 0, 1)])
        member, generation = t.stable_one(a, group, 3)
        t.beat(a, group, generation, member)
        t.describe(a, group)
        t.leave(a, group, [member])
        a.ask("DeleteGroups", 2, GroupsNames=[group])
    t.list_groups(5)
