package search

import (
	"net/netip"
	"testing"
	"time"
)

func TestAnswersMayComeFromAddressesThatSearchesReach(t *testing.T) {
	var subnets []netip.Prefix
	for _, s := range []string{"127.0.0.1/8", "10.1.2.3/24", "10.9.0.5/32"} {
		subnets = append(subnets, netip.MustParsePrefix(s))
	}
	for _, c := range []struct {
		to, host string
		want     bool
	}{
		{"10.5.0.8", "10.5.0.8", true},
		{"10.5.0.8", "10.5.0.9", false},
		{"10.5.0.9", "10.5.0.8", false}, // a single 1 bit is no broadcast address
		{"127.0.0.1", "127.0.0.1", true},
		{"127.255.255.255", "127.0.0.1", true},
		{"0.0.0.0", "127.0.0.1", true},
		{"127.0.0.1", "10.1.2.3", false},
		{"10.1.2.3", "10.1.2.3", true},
		{"10.1.2.255", "10.1.2.77", true},
		{"10.1.2.255", "10.1.3.77", false}, // the prefix of an interface is known
		{"10.9.0.5", "10.9.0.4", false},
		{"10.7.255.255", "10.7.3.4", true}, // the broadcast address of another network
		{"10.7.0.127", "10.7.0.5", true},
		{"10.7.0.127", "10.7.0.129", false},
		{"255.255.255.255", "10.1.2.9", true},
		{"255.255.255.255", "192.0.2.1", false},
		{"224.0.2.9", "10.1.2.9", true},
		{"224.0.2.9", "192.0.2.1", false},
	} {
		d, err := NewDestinations([]string{c.to}, 5064, SystemResolve, subnets)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Reach(netip.MustParseAddr(c.host)); got != c.want {
			t.Errorf("a search to %s reaches %s: %v, want %v", c.to, c.host, got, c.want)
		}
	}
}

func TestOnlySequenceNumbersSinceTheSearchBeganAreAnswers(t *testing.T) {
	now := time.Now()
	one, two := &Entry{Name: "ONE"}, &Entry{Name: "TWO"}
	q := NewQueue(0, func(int) int { return MaxDatagram })
	q.sequence = 1<<32 - 2 // the numbers wrap
	wants := func(e *Entry, sequence uint32, want bool) {
		t.Helper()
		if got := q.Answers(e, sequence); got != want {
			t.Errorf("the number %d answers %s: %v, want %v", sequence, e.Name, got, want)
		}
	}
	q.Add(one, now)
	wants(one, q.sequence, false)
	wants(one, q.sequence+1, false)
	first, _ := q.Round(now)
	q.Add(two, now)
	second, _ := q.Round(now)
	wants(one, first[0].Sequence, true)
	wants(one, second[0].Sequence, true) // a server may answer both datagrams with the number of the second
	wants(two, first[0].Sequence, false)
	wants(two, second[0].Sequence, true)
	wants(two, second[0].Sequence+1, false)
	q.sequence += sequenceWindow
	wants(one, second[0].Sequence, false)
	wants(one, second[0].Sequence+1, true)
}

func TestSequenceNumbersBeginAtRandom(t *testing.T) {
	a, b := empty(), empty()
	if a.sequence == b.sequence { // once in four billion runs
		t.Errorf("two queues begin at %d", a.sequence)
	}
}
