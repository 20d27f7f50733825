package handover

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Event is a kind of event that a run counts.
type Event int

// Events.
const (
	Updates Event = iota
	Messages
	LostBefore
	LostAfter
	Late
	Repeated
	Crashes
	NodesLost
	Terminations
	Stalls
	Zombies
	CutOffs
	StoreAway
	APIAway
	OperatorCrashes
	TwoOperators
	Moves
	Undone
	Declined
	Blinded
	OffBlind
	TakeOvers
	RolesPassed
	TwoSealers
	DeadClaims
	Rows
	Renewals
	Checkpoints
	Adopted
	Spooled
	Replayed
	Shed
	Reads
	ReadsUnderWay
	Abandoned
	Unclaimed
	Lost
	events
)

var eventNames = [events]string{
	Updates:         "updates sent by IOCs",
	Messages:        "messages",
	LostBefore:      "messages lost",
	LostAfter:       "answers lost",
	Late:            "messages that took effect after their sender stopped waiting",
	Repeated:        "messages that took effect twice",
	Crashes:         "crashes of a process",
	NodesLost:       "nodes lost",
	Terminations:    "pods requested to terminate",
	Stalls:          "stalls of a process",
	Zombies:         "writers that continued after their claim was dropped",
	CutOffs:         "partitions of an engine",
	StoreAway:       "outages of the store",
	APIAway:         "outages of the API server",
	OperatorCrashes: "crashes of the operator",
	TwoOperators:    "times that two operators ran",
	Moves:           "shard moves begun",
	Undone:          "shard moves undone",
	Declined:        "shard moves undone because the target saw too little",
	Blinded:         "engines without a shard that reached no IOC for a while",
	OffBlind:        "shard moves begun because an engine saw too little",
	TakeOvers:       "shards given to another engine after a death",
	RolesPassed:     "times that an engine took leadership",
	TwoSealers:      "checkpoints while another engine sealed too",
	DeadClaims:      "dropped claims of writers that were declared dead",
	Rows:            "rows acknowledged",
	Renewals:        "rows that counted only after the claim was renewed",
	Checkpoints:     "checkpoints",
	Adopted:         "rows of other writers sealed",
	Spooled:         "rows put into a spool",
	Replayed:        "rows sent again from a spool after a restart",
	Shed:            "samples dropped because memory was short",
	Reads:           "reads",
	ReadsUnderWay:   "reads during which a position rose or a claim was dropped",
	Abandoned:       "times that the last engine left a shard in order",
	Unclaimed:       "writers that died while the store did not have their claim",
	Lost:            "updates lost",
}

// String describes the event.
func (e Event) String() string { return eventNames[e] }

// Counts holds how often each event happened.
type Counts [events]int

// Add adds the counts of another run.
func (c *Counts) Add(o *Counts) {
	for e, n := range o {
		c[e] += n
	}
}

// Print writes the counts as a table.
func (c *Counts) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	for e, n := range c {
		fmt.Fprintf(w, "%d\t  %s\n", n, Event(e))
	}
	return w.Flush()
}
