// The lives of groups of the new protocol (KIP-848) with franz-go, which takes it only when asked to: by names, with the coordinator killed
// under load; by regular expression; with static members.
package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"interop/story"
)

var (
	topic = "franz848-" + story.Run
	later = topic + "-later"
	group = "franz848-group-" + story.Run
	ctx   = context.Background()
	admin *kadm.Client
)

type place struct {
	topic     string
	partition int32
}

// board is what the members of a group commit together: the last offset of each partition that was acknowledged.
type board struct {
	mu        sync.Mutex
	committed map[place]int64
}

func (b *board) get(at place) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.committed[at]
}

func (b *board) all() map[place]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.committed)
}

type member struct {
	client *kgo.Client
	board  *board
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	owned  map[place]bool
	moves  int
	lowest int64
}

func (m *member) change(add bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for name, partitions := range moved {
			for _, partition := range partitions {
				m.moves++
				if add {
					m.owned[place{name, partition}] = true
				} else {
					delete(m.owned, place{name, partition})
				}
			}
		}
	}
}

func join(name, group string, b *board, more ...kgo.Opt) *member {
	m := &member{owned: map[place]bool{}, lowest: 1 << 62, board: b}
	options := []kgo.Opt{
		kgo.SeedBrokers(story.Bootstrap...), kgo.ClientID("franz848-" + name), kgo.ConsumerGroup(group), kgo.ServerSideBalancer(),
		kgo.DisableAutoCommit(), kgo.MetadataMinAge(250 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(m.change(true)), kgo.OnPartitionsRevoked(m.change(false)), kgo.OnPartitionsLost(m.change(false)),
	}
	client, err := kgo.NewClient(append(options, more...)...)
	story.Check("client", err)
	m.client = client
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.done.Add(1)
	go func() {
		defer m.done.Done()
		for ctx.Err() == nil {
			fetches := client.PollFetches(ctx)
			m.mu.Lock()
			fetches.EachRecord(func(r *kgo.Record) { m.lowest = min(m.lowest, r.Offset) })
			m.mu.Unlock()
		}
	}()
	return m
}

func (m *member) has() map[place]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.owned)
}

func (m *member) owns(count int) bool { return len(m.has()) == count }

func (m *member) moved() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moves
}

// try commits once; the first error of any partition is the answer.
func (m *member) try(offsets map[string]map[int32]kgo.EpochOffset) error {
	var first error
	m.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		first = err
		if err != nil {
			return
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if code := kerr.ErrorForCode(p.ErrorCode); code != nil && first == nil {
					first = code
				}
			}
		}
	})
	return first
}

func (m *member) commit(next func(place) int64) {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	owned := m.has()
	for at := range owned {
		if offsets[at.topic] == nil {
			offsets[at.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[at.topic][at.partition] = kgo.EpochOffset{Epoch: -1, Offset: next(at)}
	}
	fatal := func(err error) bool {
		return errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.StaleMemberEpoch)
	}
	story.Retry("commit", fatal, func() error { return m.try(offsets) })
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	for at := range owned {
		m.board.committed[at] = offsets[at.topic][at.partition].Offset
	}
}

func (m *member) commitAll(offset int64) { m.commit(func(place) int64 { return offset }) }

// commitOn commits one offset after the other until told to stop.
func (m *member) commitOn(stop <-chan struct{}, done *sync.WaitGroup) {
	done.Add(1)
	go func() {
		defer done.Done()
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				m.commit(func(at place) int64 { return m.board.get(at) + 1 })
			}
		}
	}()
}

func (m *member) leave() {
	m.cancel()
	m.done.Wait()
	m.client.Close()
}

func same(owned map[place]bool, wanted ...place) bool {
	for _, at := range wanted {
		if !owned[at] {
			return false
		}
	}
	return len(owned) == len(wanted)
}

func both(name string) []place { return []place{{name, 0}, {name, 1}} }

func expectCommitted(wanted map[place]int64) {
	offsets, err := admin.FetchOffsets(ctx, group)
	story.Check("fetch offsets", err)
	for _, at := range both(topic) {
		if found, ok := offsets.Lookup(at.topic, at.partition); !ok || found.Err != nil || found.At != wanted[at] {
			story.Fail("partition %d: committed %+v, acknowledged %d", at.partition, found, wanted[at])
		}
	}
	story.Say("committed: what was acknowledged last")
}

func describe(name string) kadm.DescribedConsumerGroup {
	groups, err := admin.DescribeConsumerGroups(ctx, name)
	story.Check("describe", err)
	story.Check("describe", groups[name].Err)
	return groups[name]
}

// expectStable: everybody at the group's epoch and at the target; returns the epoch.
func expectStable(name string, members int) int32 {
	story.Until(name+" is stable", func() bool {
		d := describe(name)
		return d.State == "Stable" && len(d.Members) == members
	})
	d := describe(name)
	for _, m := range d.Members {
		if m.MemberEpoch != d.Epoch || d.AssignmentEpoch != d.Epoch {
			story.Fail("described: %+v", d)
		}
	}
	return d.Epoch
}

func expectEmpty(name string) {
	story.Until(name+" is empty", func() bool {
		d := describe(name)
		return d.State == "Empty" && len(d.Members) == 0
	})
}

func listed(name, state string) bool {
	groups, err := admin.ListGroupsByType(ctx, []string{"consumer"}, state)
	story.Check("list", err)
	_, found := groups[name]
	return found
}

func remove(name string) {
	gone, err := admin.DeleteGroup(ctx, name)
	story.Check("delete", err)
	story.Check("delete", gone.Err)
	if listed(name, "Empty") {
		story.Fail("the deleted group is listed")
	}
	story.Say("deleted")
}

func create(name string) {
	made, err := admin.CreateTopic(ctx, 2, 1, nil, name)
	story.Check("create topic", err)
	story.Check("create topic", made.Err)
}

// failover: the coordinator is killed while both commit; nothing moves, no acknowledged commit is lost, and commits go on.
func failover(a, b *member, epoch int32) {
	moves := a.moved() + b.moved()
	stop := make(chan struct{})
	var done sync.WaitGroup
	a.commitOn(stop, &done)
	b.commitOn(stop, &done)
	further := func(than map[place]int64) func() bool {
		return func() bool {
			now := a.board.all()
			for _, at := range both(topic) {
				if now[at] <= than[at]+20 {
					return false
				}
			}
			return true
		}
	}
	story.Until("both commit", further(a.board.all()))
	story.Hook("HOOK_KILL", group)
	story.Until("both commit on", further(a.board.all()))
	time.Sleep(2 * time.Second)
	close(stop)
	done.Wait()
	expectCommitted(a.board.all())
	if a.moved()+b.moved() != moves || !a.owns(1) || !b.owns(1) {
		story.Fail("partitions moved when the coordinator was killed")
	}
	if now := expectStable(group, 2); now != epoch {
		story.Fail("the group's epoch moved from %d to %d when the coordinator was killed", epoch, now)
	}
	story.Say("nothing moved")
}

func byNames() {
	b0 := &board{committed: map[place]int64{}}
	names := kgo.ConsumeTopics(topic)
	a := join("a", group, b0, names)
	story.Until("a owns both partitions", func() bool { return a.owns(2) })
	b := join("b", group, b0, names)
	story.Until("a and b own one each", func() bool { return a.owns(1) && b.owns(1) })
	a.commitAll(story.Committed)
	b.commitAll(story.Committed)
	expectCommitted(b0.all())
	epoch := expectStable(group, 2)
	if !listed(group, "Stable") {
		story.Fail("the group is not listed")
	}
	failover(a, b, epoch)
	a.commitAll(story.Committed)
	b.commitAll(story.Committed)
	b.leave()
	story.Until("a owns both again", func() bool { return a.owns(2) })
	a.leave()
	expectEmpty(group)
	again := join("a2", group, b0, names)
	story.Until("the member is back with both", func() bool { return again.owns(2) })
	time.Sleep(time.Second)
	at := again.client.CommittedOffsets()[topic]
	if at[0].Offset != story.Committed || at[1].Offset != story.Committed || again.lowest < story.Committed {
		story.Fail("resumed at %+v, got %d", at, again.lowest)
	}
	expectCommitted(b0.all())
	again.leave()
	remove(group)
}

func byExpression() {
	name := group + "-re"
	b0 := &board{committed: map[place]int64{}}
	pattern := []kgo.Opt{kgo.ConsumeRegex(), kgo.ConsumeTopics("^" + topic + "(-la[a-z]+)?$")}
	c := join("c", name, b0, pattern...)
	story.Until("c owns the topic that there is", func() bool { return same(c.has(), both(topic)...) })
	d := join("d", name, b0, pattern...)
	story.Until("c and d own one each", func() bool { return c.owns(1) && d.owns(1) })
	create(later)
	story.Until("a new topic that matches is shared too", func() bool { return c.owns(2) && d.owns(2) })
	expectStable(name, 2)
	_, err := admin.DeleteTopics(ctx, later)
	story.Check("delete topic", err)
	story.Until("the deleted topic is gone", func() bool {
		all := c.has()
		maps.Copy(all, d.has())
		return same(all, both(topic)...)
	})
	c.leave()
	d.leave()
	expectEmpty(name)
	remove(name)
}

// staticMembers: franz-go leaves for a moment (-2) without naming its instance. Apache Kafka refuses that, so that a restarted member waits
// until the session of the old one is over; muster takes it.
func staticMembers() {
	name := group + "-static"
	b0 := &board{committed: map[place]int64{}}
	start := func(instance string) *member {
		return join(instance, name, b0, kgo.ConsumeTopics(topic), kgo.InstanceID(instance))
	}
	one, two := start("one"), start("two")
	story.Until("both static members own one", func() bool { return one.owns(1) && two.owns(1) })
	epoch := expectStable(name, 2)
	moves, had := two.moved(), one.has()
	one.leave()
	begun := time.Now()
	back := start("one")
	if os.Getenv("AGAINST") == "kafka" {
		story.Until("the restarted one is back", func() bool { return back.owns(1) && two.owns(1) })
	} else {
		story.Until("the restarted one has what it had", func() bool { return maps.Equal(back.has(), had) })
		if now := expectStable(name, 2); now != epoch || two.moved() != moves {
			story.Fail("a static member's restart moved something: epoch %d, then %d", epoch, now)
		}
		if took := time.Since(begun); took > 5*time.Second {
			story.Fail("a static member's restart took %s", took)
		}
	}
	two.leave()
	_, err := admin.LeaveGroup(ctx, kadm.LeaveGroup(name).InstanceIDs("two"))
	story.Check("leave", err)
	story.Until("the removed instance's share went to the other", func() bool { return back.owns(2) })
	back.leave()
	_, err = admin.LeaveGroup(ctx, kadm.LeaveGroup(name).InstanceIDs("one"))
	story.Check("leave", err)
	expectEmpty(name)
	remove(name)
}

func main() {
	client, err := kgo.NewClient(kgo.SeedBrokers(story.Bootstrap...), kgo.ClientID("franz848-admin"))
	story.Check("client", err)
	admin = kadm.NewClient(client)
	create(topic)
	story.Hook("HOOK_TOPIC", topic)
	byNames()
	byExpression()
	staticMembers()
}
