// A group's life with sarama.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"interop/story"
)

var (
	topic = "sarama-" + story.Run
	group = "sarama-group-" + story.Run
)

type member struct {
	group   sarama.ConsumerGroup
	cancel  context.CancelFunc
	done    sync.WaitGroup
	mu      sync.Mutex
	session sarama.ConsumerGroupSession
	initial map[int32]int64
	lowest  int64
	err     error
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = session
	m.initial = map[int32]int64{}
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = nil
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	m.mu.Lock()
	m.initial[claim.Partition()] = claim.InitialOffset()
	m.mu.Unlock()
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			m.mu.Lock()
			m.lowest = min(m.lowest, message.Offset)
			m.mu.Unlock()
		case <-session.Context().Done():
			return nil
		}
	}
}

func config(name string) *sarama.Config {
	c := sarama.NewConfig()
	c.ClientID = "sarama-" + name
	c.Version = sarama.MaxVersion
	c.Consumer.Offsets.AutoCommit.Enable = false
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Group.Session.Timeout = 10 * time.Second
	c.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	c.Consumer.Group.Rebalance.Timeout = 10 * time.Second
	c.Consumer.Return.Errors = true
	return c
}

func join(name string) *member {
	g, err := sarama.NewConsumerGroup(story.Bootstrap, group, config(name))
	story.Check("consumer group", err)
	m := &member{group: g, lowest: 1 << 62}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.done.Add(2)
	go func() {
		defer m.done.Done()
		for ctx.Err() == nil {
			if err := g.Consume(ctx, []string{topic}, m); err != nil && ctx.Err() == nil {
				story.Say("%s: %v, once more", name, err)
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	go func() {
		defer m.done.Done()
		for err := range g.Errors() {
			m.mu.Lock()
			m.err = err
			m.mu.Unlock()
		}
	}()
	return m
}

func (m *member) owns(count int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session != nil && len(m.session.Claims()[topic]) == count && len(m.initial) == count
}

// commit marks and commits; sarama reports what went wrong on the errors channel.
func (m *member) commit(offset int64) {
	story.Retry("commit", func(error) bool { return false }, func() error {
		m.mu.Lock()
		session := m.session
		m.err = nil
		m.mu.Unlock()
		if session == nil { // sarama gives its session up after three heartbeats without an answer, and joins again
			return errors.New("no session")
		}
		for _, partition := range session.Claims()[topic] {
			session.ResetOffset(topic, partition, offset, "")
			session.MarkOffset(topic, partition, offset, "")
		}
		session.Commit()
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.err
	})
}

func (m *member) leave() {
	m.cancel()
	story.Check("close", m.group.Close())
	m.done.Wait()
}

func expectCommitted(admin sarama.ClusterAdmin) {
	answer, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0, 1}})
	story.Check("fetch offsets", err)
	for partition := range int32(2) {
		if at := answer.GetBlock(topic, partition); at == nil || at.Err != sarama.ErrNoError || at.Offset != story.Committed {
			story.Fail("partition %d: committed %+v", partition, at)
		}
	}
	story.Say("committed: %d", story.Committed)
}

func listed(admin sarama.ClusterAdmin) bool {
	groups, err := admin.ListConsumerGroups()
	story.Check("list", err)
	_, found := groups[group]
	return found
}

func expectDescribed(admin sarama.ClusterAdmin, state string, members int) {
	groups, err := admin.DescribeConsumerGroups([]string{group})
	story.Check("describe", err)
	if groups[0].Err != sarama.ErrNoError || groups[0].State != state || len(groups[0].Members) != members {
		story.Fail("described: %v %s with %d members", groups[0].Err, groups[0].State, len(groups[0].Members))
	}
	story.Say("described: %s, %d members", state, members)
}

func main() {
	admin, err := sarama.NewClusterAdmin(story.Bootstrap, config("admin"))
	story.Check("admin", err)
	story.Check("create topic", admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}, false))
	story.Hook("HOOK_TOPIC", topic)

	a := join("a")
	story.Until("a owns both partitions", func() bool { return a.owns(2) })
	b := join("b")
	story.Until("a and b own one each", func() bool { return a.owns(1) && b.owns(1) })
	a.commit(story.Committed)
	b.commit(story.Committed)
	expectCommitted(admin)
	story.Hook("HOOK_MIDLIFE", group)
	a.commit(story.Committed + 1)
	b.commit(story.Committed + 1)
	a.commit(story.Committed)
	b.commit(story.Committed)
	expectCommitted(admin)
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
	if again.initial[0] != story.Committed || again.initial[1] != story.Committed {
		story.Fail("resumed at %v", again.initial)
	}
	time.Sleep(time.Second)
	if again.lowest < story.Committed {
		story.Fail("got offset %d", again.lowest)
	}
	expectCommitted(admin)
	again.leave()
	story.Check("delete", admin.DeleteConsumerGroup(group))
	if listed(admin) {
		story.Fail("the deleted group is listed")
	}
	story.Say("deleted")
}
