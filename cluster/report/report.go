// Package report defines the report that the operator fetches from each engine every few
// seconds, as JSON over HTTP at Path. The report has the values that change often, so that
// engines do not write them to the API server:
//
//	engine ──▶ agent ──▶ GET /internal/report ──▶ operator ──▶ status of groups, placement
package report

import "time"

// Path is the path of the report on an engine's internal port.
const Path = "/internal/report"

// ByOperator is a query parameter of Path that only operators send. From it, an engine that shuts down knows
// whether somebody is there who can move its shards.
const ByOperator = "operator"

// PortName is the name of the internal port in the containers of engines. If a container has no port of
// this name, its report is on Port, because older operators gave engines a single port.
const (
	PortName = "internal"
	Port     = 17665
)

// Report is the state of one engine.
type Report struct {
	// Engine is the name of the pod. Writer is the writer ID of the process, as 32
	// hexadecimal digits.
	Engine  string    `json:"engine"`
	Writer  string    `json:"writer"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Format has format levels. It is nil in reports of release 0.1.0, which knows only level 5.
	Format *Format `json:"format,omitempty"`
	// Storage says why the store does not accept samples. It is "" while the store accepts them.
	Storage string `json:"storage,omitempty"`
	// DiskGuard is the state of the disk guard, or nil while another engine runs it.
	DiskGuard *DiskGuard `json:"diskGuard,omitempty"`
	// OldestUnsealedSeconds is how long the oldest unsealed journal row of the shards that the engine
	// seals has been in the store, and JournalKeptSeconds how long the store keeps such rows. Both are 0
	// if the store keeps rows until they are sealed.
	OldestUnsealedSeconds float64 `json:"oldestUnsealedSeconds,omitempty"`
	JournalKeptSeconds    float64 `json:"journalKeptSeconds,omitempty"`
	// SealingLag describes the shards whose samples wait in the journal for too long, and is nil if
	// there are none.
	SealingLag *SealingLag `json:"sealingLag,omitempty"`
	// Damaged describes the stored data that the engine found damaged since its start, and is nil if
	// there is none.
	Damaged *Damaged `json:"damaged,omitempty"`
	// WrongClock describes the clock of the engine's node if it is wrong, and is nil otherwise.
	WrongClock *WrongClock `json:"wrongClock,omitempty"`
	// SearchProblems are at most 4 reasons why searches for the engine's PVs do not reach all servers: host
	// names in address lists that cannot be resolved, or no addresses at all.
	SearchProblems []string `json:"searchProblems,omitempty"`
	// Draining means that the engine is shutting down and hands its shards over.
	Draining bool `json:"draining,omitempty"`

	// Shards are the shards that the engine joins, captures or drains, sorted by index.
	Shards []Shard `json:"shards"`
	// Groups are the groups by namespace/name. They do not count channels of shards that the
	// engine is joining or draining, or for which it is the second engine, because another
	// engine counts them. However, BytesPerDay includes the channels for which this engine is
	// the second engine.
	Groups map[string]Group `json:"groups"`
	// Second describes the channels that the engine captures permanently as the second engine,
	// or is nil if there are none. Shard moves do not count.
	Second *Second `json:"second,omitempty"`
	// Circuits are the (at most 20) IOCs with the most connections from this engine.
	Circuits []Circuit `json:"circuits,omitempty"`

	// Received, Stored and Dropped count samples since the start of the process. Pending
	// counts samples that are only in memory.
	Received uint64 `json:"received"`
	Stored   uint64 `json:"stored"`
	Dropped  uint64 `json:"dropped"`
	Pending  uint64 `json:"pending"`
	// MemoryBytes is the memory used by samples that are not in a block yet, and by blocks that
	// still grow.
	MemoryBytes int64 `json:"memoryBytes"`
}

// Format has the format level of the archive, and the highest one that the engine's program knows.
type Format struct {
	// Archive is 0 until the engine has read it.
	Archive int `json:"archive,omitempty"`
	Latest  int `json:"latest"`
}

// Shard is the state of one shard in an engine.
type Shard struct {
	Index int    `json:"index"`
	Phase string `json:"phase"` // a v1alpha1.ShardPhase
	// Orphaned means that the engine captures the shard although the ArchiveShard is missing, has
	// no label for the engine, or does not name it.
	Orphaned  bool `json:"orphaned,omitempty"`
	Sealing   bool `json:"sealing,omitempty"`
	Channels  int  `json:"channels"`
	Connected int  `json:"connected"`
	// Paused counts the channels that are paused, and Unsupported those of a type that cannot be
	// archived.
	Paused      int `json:"paused,omitempty"`
	Unsupported int `json:"unsupported,omitempty"`
	// Hosts are IOCs to which channels of the shard are connected, the ones with the most
	// channels first. A report has at most about 16,000 hosts for all shards together.
	Hosts []Host `json:"hosts,omitempty"`
	// SteadilyConnected counts the channels that have been connected for at least 30 s.
	// Unreachable counts the channels that have been disconnected for at least 30 s.
	SteadilyConnected int     `json:"lit,omitempty"`
	Unreachable       int     `json:"dark,omitempty"`
	SamplesPerSecond  float64 `json:"samplesPerSecond"`
	// BytesPerSecond is the rate of received values in bytes.
	BytesPerSecond float64 `json:"bytesPerSecond"`
	// Circuits is the shard's share of the engine's circuits. A circuit used by n shards
	// counts as 1/n in each.
	Circuits float64 `json:"circuits"`
	// Lists are the names of the channel lists that the engine captures.
	Lists []string `json:"lists,omitempty"`
}

// Group is the state of one group's channels in an engine.
type Group struct {
	Channels         int     `json:"channels"`
	Connected        int     `json:"connected"`
	Disconnected     int     `json:"disconnected"`
	NeverConnected   int     `json:"neverConnected"`
	Silent           int     `json:"silent"`
	Paused           int     `json:"paused"`
	Disabled         int     `json:"disabled,omitempty"`
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	BytesPerDay      float64 `json:"bytesPerDay"`
	// Worst are at most 20 channels with a problem, the longest problem first.
	Worst []Channel `json:"worst,omitempty"`
}

// Second describes the channels that an engine captures as second engine, and their cost.
type Second struct {
	Channels int `json:"channels"`
	// Circuits is the number of circuits that exist only for these channels.
	Circuits int `json:"circuits"`
	// BytesPerDay is the size of the samples of these channels in the journal. The BytesPerDay of
	// groups includes it.
	BytesPerDay float64 `json:"bytesPerDay"`
}

// Channel is a channel with a problem.
type Channel struct {
	PV      string    `json:"pv"`
	Reason  string    `json:"reason"` // NeverConnected, Disconnected, Unsupported, Dropping
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Host is an IOC, and the number of a shard's channels that are connected to it.
type Host struct {
	Host     string `json:"host"` // address, prefixed with pva:// for pvAccess
	Channels int    `json:"channels"`
}

// Circuit counts the connections to one IOC.
type Circuit struct {
	Host  string `json:"host"` // address, prefixed with pva:// for pvAccess
	Count int    `json:"count"`
}

// SealingLag describes samples that wait in the journal for too long.
type SealingLag struct {
	// Shards is the number of shards with such samples.
	Shards int `json:"shards"`
	// OldestSeconds is how long the oldest journal row has been in the store. The store deletes rows
	// after KeptSeconds, unless an engine writes them again.
	OldestSeconds float64 `json:"oldestSeconds"`
	KeptSeconds   float64 `json:"keptSeconds"`
}

// Damaged describes the stored data that an engine found damaged.
type Damaged struct {
	Objects int `json:"objects"` // blocks and journal rows
	// First describes the first damaged object.
	First string `json:"first"`
	// IDs identify the first damaged objects. Every engine that finds an object gives it the same ID.
	IDs []uint64 `json:"ids,omitempty"`
}

// WrongClock is a clock that differs from those of Cassandra, IOCs and other engines.
type WrongClock struct {
	// OffsetSeconds is what must be added to the clock to get the time.
	OffsetSeconds float64 `json:"offsetSeconds"`
	// Because says with what the clock was compared.
	Because string `json:"because"`
}

// DiskGuard is the state of the disk guard of an archive.
type DiskGuard struct {
	Reason string `json:"reason"` // a reason of v1alpha1.ConditionDiskGuard
	// Size is the size of the archive, Limit its limit, and Waiting the size of deleted data
	// that the store has not freed yet, in bytes.
	Size    int64 `json:"size"`
	Limit   int64 `json:"limit"`
	Waiting int64 `json:"waiting"`
	// Before is the deletion cutoff, or nil if no raw samples were deleted.
	Before *time.Time `json:"before,omitempty"`
	// Text explains why the guard cannot free space, or what an administrator can do.
	Text string `json:"text,omitempty"`
}
