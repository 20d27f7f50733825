package handover

// Profile says what happens in a run, and so what may be lost.
type Profile int

// Profiles.
const (
	// Anything may happen to one or two engines of a shard, at any time. What may be
	// lost is what nobody held any more, or captured, and it is marked.
	Anything Profile = iota
	// Planned: shards move and pods end in order, while messages are late, lost and
	// repeated. Nothing may be lost.
	Planned
	// Redundant: two engines capture each shard, and one of them at a time crashes. All
	// else may happen. Nothing may be lost.
	Redundant
)

// String names the profile.
func (p Profile) String() string {
	return [...]string{"anything", "planned moves", "redundancy 2, one crash at a time"}[p]
}

// Fault is a mistake in the protocol, made on purpose.
type Fault int

// Faults.
const (
	// None: the protocol as it should be.
	None Fault = iota
	// EarlyClose: an engine stops at an order to drain, whoever captures.
	EarlyClose
	// SameWriter: a process that is started again has the writers of the one before.
	SameWriter
	// EarlySeal: a sealed position rises when blocks are sent, and not when they are
	// acknowledged.
	EarlySeal
	// UncheckedClaim: a row counts when it is acknowledged, however old the claim is, which
	// is renewed when there is nothing else to do.
	UncheckedClaim
	// EarlyForget: a head gives samples up when its row is acknowledged.
	EarlyForget
	// BlocksFirst: readers look at blocks, then at the journal, then at memory.
	BlocksFirst
	// BlindDrop: a claim is dropped by whoever takes its writer for dead, also if it
	// was renewed since he looked.
	BlindDrop
	// ClockDrop: as BlindDrop, and it is the clocks of the two that decide which was
	// later.
	ClockDrop
	// TwoRowsUnderWay: a shardJournal sends a row before the one before is acknowledged.
	TwoRowsUnderWay
	// OldPosition: a row given up for the spool leaves its position to the next one.
	OldPosition
	// SameBlocks: a new term of a sealer writes blocks under the keys of the term before.
	SameBlocks
	// HastySealer: a sealer drops the claims of all that it takes for having a lower rank.
	HastySealer
	// SilentDeath: who drops a dead writer's claim marks nothing.
	SilentDeath
	// LateMark: the mark of a death begins with the latest sign of life, whatever waited
	// in memory then.
	LateMark
	// UnreadUpdates: an engine that is told to drain does not read what has come to it,
	// but not to its process, as after a stall.
	UnreadUpdates
	// OwnTime: a sample has the time at which it came to an engine.
	OwnTime
	faults
)

// String names the fault.
func (f Fault) String() string {
	return [...]string{
		"none", "close before the successor captures", "reuse of a writer's id", "sealed position before the acknowledgement",
		"claim not checked before a row counts", "memory given up before it is sealed", "readers look at blocks first",
		"a claim dropped that was renewed", "a claim dropped by clock", "two rows under way", "a position used again",
		"keys of blocks used again", "claims of living writers dropped", "deaths not marked", "deaths marked too late", "updates left in sockets", "samples timed by engines",
	}[f]
}

// Config of a run.
type Config struct {
	Profile Profile
	Fault   Fault
	// Trace asks for a trace of every step.
	Trace bool
}

// Result of a run.
type Result struct {
	Seed   uint64
	Steps  int
	Counts Counts
	// Violation is the first thing that must not happen; empty: none did.
	Violation string
	// Trace has the steps of all shards, or of the one of the violation.
	Trace []string
}
