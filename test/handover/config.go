package handover

// Profile selects the faults of a run, and with them the losses that are allowed.
type Profile int

// Profiles.
const (
	// Anything allows all faults at any time, with one or two engines for each shard. An
	// update may be lost only if no engine holds or captures it any longer, and only if a mark
	// covers it.
	Anything Profile = iota
	// Planned moves shards and terminates pods in order, while messages are late, lost and
	// repeated. No update may be lost.
	Planned
	// Redundant lets two engines capture each shard. At most one of them crashes at a time.
	// All other faults may happen. No update may be lost.
	Redundant
)

// String names the profile.
func (p Profile) String() string {
	return [...]string{"anything", "planned moves", "redundancy 2, one crash at a time"}[p]
}

// Fault is a deliberate mistake in the protocol.
type Fault int

// Faults.
const (
	// None is the correct protocol.
	None Fault = iota
	// EarlyClose: an engine that is ordered to drain stops before its successor captures.
	EarlyClose
	// SameWriter: a restarted process reuses the writer IDs of the previous process.
	SameWriter
	// EarlySeal: a sealer raises the sealed position when it sends blocks, instead of when
	// the store acknowledges them.
	EarlySeal
	// UncheckedClaim: a row counts when it is acknowledged, regardless of the age of the
	// claim. The engine renews the claim only when it has no rows to send.
	UncheckedClaim
	// EarlyForget: an engine releases samples from memory when their row is acknowledged.
	EarlyForget
	// BlocksFirst: readers read blocks first, then the journal, then memory.
	BlocksFirst
	// BlindDrop: a sealer drops the claim of a writer that it declares dead, even if the
	// writer has renewed the claim since the sealer read it.
	BlindDrop
	// ClockDrop: like BlindDrop, but the clocks of the sealer and the writer decide whether
	// the drop or the renewal is later.
	ClockDrop
	// TwoRowsUnderWay: a shardJournal sends a row before the previous one is acknowledged.
	TwoRowsUnderWay
	// OldPosition: when a row moves to the spool, the next row reuses its position.
	OldPosition
	// SameBlocks: a new term of a sealer reuses the block keys of the previous term.
	SameBlocks
	// HastySealer: a sealer declares all writers with a lower term dead and drops their
	// claims.
	HastySealer
	// SilentDeath: a sealer drops a dead writer's claim without writing a mark.
	SilentDeath
	// LateMark: the mark of a death begins at the writer's latest sign of life, even if
	// samples waited in its memory then.
	LateMark
	// UnreadUpdates: an engine that releases a shard does not read the updates that still
	// wait in its sockets, as after a stall.
	UnreadUpdates
	// OwnTime: a sample gets the time at which it arrived at an engine.
	OwnTime
	// BlindSuccessor: the operator orders an engine to drain although its successor does not reach
	// the IOC.
	BlindSuccessor
	// ClockRestamp: an engine judges the times of IOCs by its own clock, although the clock is
	// wrong.
	ClockRestamp
	// ClockExpiry: a sealer leaves out samples that have expired by its own clock.
	ClockExpiry
	// ClockTTL: a sealer computes the TTL of blocks from its own clock.
	ClockTTL
	// ClockMarks: the bounds of marks, and the times to which writers say that all samples are saved, are
	// those of the engines' clocks.
	ClockMarks
	// CloseSpooled: an engine that has released a shard closes its claim while samples of the shard
	// wait in its spool.
	CloseSpooled
	faults
)

// String names the fault.
func (f Fault) String() string {
	return [...]string{
		"none", "close before the successor captures", "reuse of a writer's id", "sealed position before the acknowledgement",
		"claim not checked before a row counts", "memory released before it is sealed", "readers read blocks first",
		"a renewed claim dropped", "a claim dropped by clock", "two rows in flight", "a position reused",
		"keys of blocks reused", "claims of living writers dropped", "deaths not marked", "deaths marked too late", "updates left in sockets", "samples timed by engines",
		"drain although the successor is blind",
		"times of IOCs judged by a wrong clock", "samples expired by a wrong clock", "TTLs by a wrong clock", "marks by wrong clocks", "claim closed while samples wait in the spool",
	}[f]
}

// Config is the configuration of a run.
type Config struct {
	Profile Profile
	Fault   Fault
	// Trace is true if the run records a trace.
	Trace bool
}

// Result is the result of a run.
type Result struct {
	Seed   uint64
	Steps  int
	Counts Counts
	// Violation describes the first violation of a rule. It is empty if there is none.
	Violation string
	// Trace has the steps of all shards, or of the shard of the first violation.
	Trace []string
}
