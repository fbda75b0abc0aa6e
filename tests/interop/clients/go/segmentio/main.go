// A group's life with segmentio's kafka-go.
package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"interop/story"
)

var (
	topic = "segmentio-" + story.Run
	group = "segmentio-group-" + story.Run
)

type member struct {
	group      *kafka.ConsumerGroup
	cancel     context.CancelFunc
	done       sync.WaitGroup
	mu         sync.Mutex
	generation *kafka.Generation
}

func join(name string) *member {
	g, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: group, Brokers: story.Bootstrap, Topics: []string{topic}, SessionTimeout: 10 * time.Second,
		HeartbeatInterval: 500 * time.Millisecond, RebalanceTimeout: 10 * time.Second, JoinGroupBackoff: 200 * time.Millisecond,
		StartOffset: kafka.FirstOffset, Dialer: &kafka.Dialer{ClientID: "segmentio-" + name, Timeout: 10 * time.Second},
	})
	story.Check("consumer group", err)
	m := &member{group: g}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.done.Add(1)
	go func() {
		defer m.done.Done()
		for {
			generation, err := g.Next(ctx)
			if errors.Is(err, kafka.ErrGroupClosed) || ctx.Err() != nil {
				return
			}
			if err != nil {
				story.Say("%s: %v, once more", name, err)
				continue
			}
			m.set(generation)
			generation.Start(func(live context.Context) {
				<-live.Done()
				m.set(nil)
			})
		}
	}()
	return m
}

func (m *member) set(generation *kafka.Generation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation = generation
}

func (m *member) current() *kafka.Generation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generation
}

func (m *member) owns(count int) bool {
	generation := m.current()
	return generation != nil && len(generation.Assignments[topic]) == count
}

func (m *member) commit() {
	fatal := func(err error) bool {
		return errors.Is(err, kafka.UnknownMemberId) || errors.Is(err, kafka.IllegalGeneration)
	}
	story.Retry("commit", fatal, func() error {
		generation := m.current()
		if generation == nil {
			return errors.New("no generation")
		}
		offsets := map[int]int64{}
		for _, assigned := range generation.Assignments[topic] {
			offsets[assigned.ID] = story.Committed
		}
		return generation.CommitOffsets(map[string]map[int]int64{topic: offsets})
	})
}

func (m *member) leave() {
	story.Check("close", m.group.Close())
	m.cancel()
	m.done.Wait()
}

func expectCommitted(client *kafka.Client) {
	answer, err := client.OffsetFetch(context.Background(), &kafka.OffsetFetchRequest{
		GroupID: group, Topics: map[string][]int{topic: {0, 1}}})
	story.Check("fetch offsets", err)
	story.Check("fetch offsets", answer.Error)
	if len(answer.Topics[topic]) != 2 {
		story.Fail("fetched %+v", answer.Topics)
	}
	for _, at := range answer.Topics[topic] {
		if at.Error != nil || at.CommittedOffset != story.Committed {
			story.Fail("committed: %+v", at)
		}
	}
	story.Say("committed: %d", story.Committed)
}

// listed asks every node, as kafka-go's ListGroups asks one only.
func listed(client *kafka.Client) bool {
	metadata, err := client.Metadata(context.Background(), &kafka.MetadataRequest{})
	story.Check("metadata", err)
	found := false
	for _, broker := range metadata.Brokers {
		address, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(broker.Host, story.Port(broker.Port)))
		story.Check("address", err)
		answer, err := client.ListGroups(context.Background(), &kafka.ListGroupsRequest{Addr: address})
		story.Check("list", err)
		story.Check("list", answer.Error)
		for _, g := range answer.Groups {
			found = found || g.GroupID == group
		}
	}
	return found
}

func expectDescribed(client *kafka.Client, state string, members int) {
	answer, err := client.DescribeGroups(context.Background(), &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	story.Check("describe", err)
	g := answer.Groups[0]
	if g.Error != nil || g.GroupState != state || len(g.Members) != members {
		story.Fail("described: %v %s with %d members", g.Error, g.GroupState, len(g.Members))
	}
	story.Say("described: %s, %d members", state, members)
}

func main() {
	client := &kafka.Client{Addr: kafka.TCP(story.Bootstrap...), Timeout: 20 * time.Second}
	made, err := client.CreateTopics(context.Background(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 2, ReplicationFactor: 1}}})
	story.Check("create topic", err)
	story.Check("create topic", made.Errors[topic])
	story.Hook("HOOK_TOPIC", topic)

	a := join("a")
	story.Until("a owns both partitions", func() bool { return a.owns(2) })
	b := join("b")
	story.Until("a and b own one each", func() bool { return a.owns(1) && b.owns(1) })
	a.commit()
	b.commit()
	expectCommitted(client)
	story.Hook("HOOK_MIDLIFE", group)
	a.commit()
	b.commit()
	if !listed(client) {
		story.Fail("the group is not listed")
	}
	expectDescribed(client, "Stable", 2)
	b.leave()
	story.Until("a owns both again", func() bool { return a.owns(2) })
	a.leave()
	expectDescribed(client, "Empty", 0)

	again := join("a2")
	story.Until("the member is back with both", func() bool { return again.owns(2) })
	for _, assigned := range again.current().Assignments[topic] {
		if assigned.Offset != story.Committed {
			story.Fail("resumed at %+v", assigned)
		}
	}
	expectCommitted(client)
	again.leave()
	gone, err := client.DeleteGroups(context.Background(), &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
	story.Check("delete", err)
	story.Check("delete", gone.Errors[group])
	if listed(client) {
		story.Fail("the deleted group is listed")
	}
	story.Say("deleted")
}
