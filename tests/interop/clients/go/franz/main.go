// A group's life with franz-go, classic protocol.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"interop/story"
)

var (
	topic = "franz-" + story.Run
	group = "franz-group-" + story.Run
)

type member struct {
	client *kgo.Client
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	owned  map[int32]bool
	lowest int64
}

func join(name string) *member {
	m := &member{owned: map[int32]bool{}, lowest: 1 << 62}
	change := func(add bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, partition := range moved[topic] {
				if add {
					m.owned[partition] = true
				} else {
					delete(m.owned, partition)
				}
			}
		}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(story.Bootstrap...), kgo.ClientID("franz-"+name), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(), kgo.SessionTimeout(10*time.Second),
		kgo.HeartbeatInterval(500*time.Millisecond), kgo.RebalanceTimeout(10*time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(change(true)), kgo.OnPartitionsRevoked(change(false)), kgo.OnPartitionsLost(change(false)))
	story.Check("client", err)
	m.client = client
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.done.Add(1)
	go func() {
		defer m.done.Done()
		for ctx.Err() == nil {
			client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				m.mu.Lock()
				m.lowest = min(m.lowest, r.Offset)
				m.mu.Unlock()
			})
		}
	}()
	return m
}

func (m *member) owns(count int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.owned) == count
}

func (m *member) commit() {
	offsets := map[string]map[int32]kgo.EpochOffset{topic: {}}
	m.mu.Lock()
	for partition := range m.owned {
		offsets[topic][partition] = kgo.EpochOffset{Epoch: -1, Offset: story.Committed}
	}
	m.mu.Unlock()
	fatal := func(err error) bool {
		return errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.IllegalGeneration)
	}
	story.Retry("commit", fatal, func() error {
		var first error
		m.client.CommitOffsetsSync(context.Background(), offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
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
	})
}

func (m *member) leave() {
	m.cancel()
	m.done.Wait()
	m.client.Close()
}

func expectCommitted(admin *kadm.Client) {
	offsets, err := admin.FetchOffsets(context.Background(), group)
	story.Check("fetch offsets", err)
	for partition := range int32(2) {
		if at, found := offsets.Lookup(topic, partition); !found || at.Err != nil || at.At != story.Committed {
			story.Fail("partition %d: committed %+v", partition, at)
		}
	}
	story.Say("committed: %d", story.Committed)
}

func expectDescribed(admin *kadm.Client, state string, members int) {
	groups, err := admin.DescribeGroups(context.Background(), group)
	story.Check("describe", err)
	g := groups[group]
	if g.Err != nil || g.State != state || len(g.Members) != members {
		story.Fail("described: %v %s with %d members", g.Err, g.State, len(g.Members))
	}
	story.Say("described: %s, %d members", state, members)
}

func listed(admin *kadm.Client) bool {
	groups, err := admin.ListGroups(context.Background())
	story.Check("list", err)
	_, found := groups[group]
	return found
}

func main() {
	client, err := kgo.NewClient(kgo.SeedBrokers(story.Bootstrap...), kgo.ClientID("franz-admin"))
	story.Check("client", err)
	admin := kadm.NewClient(client)
	made, err := admin.CreateTopic(context.Background(), 2, 1, nil, topic)
	story.Check("create topic", err)
	story.Check("create topic", made.Err)
	story.Hook("HOOK_TOPIC", topic)

	a := join("a")
	story.Until("a owns both partitions", func() bool { return a.owns(2) })
	b := join("b")
	story.Until("a and b own one each", func() bool { return a.owns(1) && b.owns(1) })
	a.commit()
	b.commit()
	expectCommitted(admin)
	story.Hook("HOOK_MIDLIFE", group)
	a.commit()
	b.commit()
	if !listed(admin) {
		story.Fail("the group is not listed")
	}
	expectDescribed(admin, "Stable", 2)
	b.leave()
	story.Until("a owns both again", func() bool { return a.owns(2) })
	a.leave()
	expectDescribed(admin, "Empty", 0)

	again := join("a2")
	story.Until("the member is back with both", func() bool { return again.owns(2) })
	at := again.client.CommittedOffsets()[topic]
	if at[0].Offset != story.Committed || at[1].Offset != story.Committed {
		story.Fail("resumed at %+v", at)
	}
	time.Sleep(time.Second)
	if again.lowest < story.Committed {
		story.Fail("got offset %d", again.lowest)
	}
	expectCommitted(admin)
	again.leave()
	gone, err := admin.DeleteGroup(context.Background(), group)
	story.Check("delete", err)
	story.Check("delete", gone.Err)
	if listed(admin) {
		story.Fail("the deleted group is listed")
	}
	story.Say("deleted")
}
