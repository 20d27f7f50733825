package overview

import (
	"context"
	"time"
)

// Sources are what a process knows of its archive besides channels and the store. A source that is
// nil is unknown.
type Sources struct {
	// Engines returns the engines of the archive, with their shards.
	Engines func(ctx context.Context) Fleet
	// Groups returns the groups. missing says why there are none, or why some are missing.
	Groups func() (groups []Group, missing string)
	// Group returns a group with its manifest, if Groups returns groups without it.
	Group func(ctx context.Context, group string) (Group, error)
	// Check checks a manifest as a cluster does, and changes nothing.
	Check func(text []byte) Checked
}

// Fleet is the state of the engines of an archive.
type Fleet struct {
	Engines []Engine
	// Shards is the number of shards, and Captured how many of them have engines that capture.
	Shards, Captured int
	Assigned         []Shard
	Moves            []Move
	// Missing says why engines or shards are missing. It is empty if none are.
	Missing string
}

// Engine is the state of an engine.
type Engine struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"`
	// Started is the time of the start of its process. It is zero if it is not known.
	Started time.Time `json:"started,omitzero"`
	// Missing says why nothing else is known, such as that the engine does not answer.
	Missing string `json:"missing,omitempty"`
	// Draining means that the engine is shutting down and hands its shards over.
	Draining bool `json:"draining,omitempty"`
	// Figures is nil if the engine did not answer.
	Figures *Figures `json:"figures,omitempty"`
}

// Figures are the figures of an engine. Counts of samples are since the start of its process.
type Figures struct {
	Shards           int     `json:"shards"`
	Sealing          int     `json:"sealing"` // shards that it seals
	Channels         int     `json:"channels"`
	Connected        int     `json:"connected"`
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	BytesPerSecond   float64 `json:"bytesPerSecond"`
	// Load is SamplesPerSecond divided by its mean over all engines that answered. It is nil if there
	// is only one, or if no engine gets samples.
	Load     *float64 `json:"load,omitempty"`
	Received uint64   `json:"received"`
	Stored   uint64   `json:"stored"`
	Pending  uint64   `json:"pending"`
	Dropped  uint64   `json:"dropped"`
	Memory   int64    `json:"memoryBytes"`
	// Storage says why the store does not accept samples. It is empty while it does.
	Storage string `json:"storage,omitempty"`
	// Unsealed is how far sealing is behind, or nil if that is not known.
	Unsealed *Unsealed `json:"unsealed,omitempty"`
	// Damaged is nil if the engine found no damaged rows since its start.
	Damaged *Damaged `json:"damaged,omitempty"`
	Clock   Clock    `json:"clock"`
	// DiskGuard is nil while another engine runs the disk guard.
	DiskGuard *DiskGuard `json:"diskGuard,omitempty"`
}

// Unsealed is how long the oldest unsealed journal row has been in the store.
type Unsealed struct {
	OldestSeconds float64 `json:"oldestSeconds"`
	// KeptSeconds is how long the store keeps such rows. It is 0 if it keeps them until they are sealed.
	KeptSeconds float64 `json:"keptSeconds"`
	// Late is the number of shards whose rows wait for too long.
	Late int `json:"late"`
}

// Damaged is stored data that cannot be read any more.
type Damaged struct {
	Objects int    `json:"objects"` // blocks and journal rows
	First   string `json:"first"`   // describes the first one
}

// Clock is the verdict about the clock of a machine.
type Clock struct {
	State string `json:"state"` // right, wrong, unknown, or notWrong if it is one of right and unknown
	// OffsetSeconds is what must be added to a wrong clock to get the time.
	OffsetSeconds float64 `json:"offsetSeconds,omitempty"`
	Because       string  `json:"because,omitempty"`
}

// States of a clock.
const (
	ClockRight    = "right"
	ClockWrong    = "wrong"
	ClockUnknown  = "unknown"
	ClockNotWrong = "notWrong"
)

// DiskGuard is the state of the disk guard.
type DiskGuard struct {
	Reason string `json:"reason"`
	// Size is the size of the archive, Limit its limit, and Waiting the size of deleted data that the
	// store has not freed yet, in bytes.
	Size    int64     `json:"sizeBytes"`
	Limit   int64     `json:"limitBytes"`
	Waiting int64     `json:"waitingBytes"`
	Before  time.Time `json:"before,omitzero"` // raw samples from before this time were deleted
	Text    string    `json:"text,omitempty"`
}

// Shard is a shard with the engines that capture it.
type Shard struct {
	Shard   int           `json:"shard"`
	Engines []ShardEngine `json:"engines"`
	// Channels is the number of channels that are assigned to the shard.
	Channels int `json:"channels"`
}

// ShardEngine is an engine of a shard.
type ShardEngine struct {
	Engine  string `json:"engine"`
	Phase   string `json:"phase"`
	Sealing bool   `json:"sealing,omitempty"`
	// Connected is nil if the engine did not say it.
	Connected *int `json:"connected,omitempty"`
}

// Move is a step of a shard move.
type Move struct {
	Shard   int       `json:"shard"`
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"`
	Phase   string    `json:"phase"`
	Since   time.Time `json:"since,omitzero"`
	Message string    `json:"message,omitempty"`
}

// Group is a group of PVs, with its settings as applied.
type Group struct {
	Group     string    `json:"group"` // namespace/name
	Settings  Settings  `json:"settings"`
	Problems  []Problem `json:"problems"`
	Manifest  string    `json:"-"` // in YAML, without its status
	Spec      any       `json:"-"`
	Condition string    `json:"condition,omitempty"` // the message of the condition Ready
}

// Settings are the settings of a group, with all defaults.
type Settings struct {
	Provider   string   `json:"provider"` // CA, PVA, or default if the default of the archive is not known
	Sampling   string   `json:"sampling"`
	Retention  string   `json:"retention"`
	Redundancy int      `json:"redundancy"`
	Properties []string `json:"properties,omitempty"`
	Fields     []string `json:"fields,omitempty"`
	ShardBy    string   `json:"shardBy"`
	Paused     bool     `json:"paused,omitempty"`
	ExpiresAt  string   `json:"expiresAt,omitempty"`
	OnDelete   string   `json:"onDelete"`
	// Channels is the number of PVs that the group itself lists, Own how many of them have settings of
	// their own, and Sources where more PVs come from.
	Channels int      `json:"listed"`
	Own      int      `json:"own,omitempty"`
	Sources  []string `json:"sources,omitempty"`
}

// Severities of problems.
const (
	SeverityError   = "error"   // samples are lost, or may be lost
	SeverityWarning = "warning" // something is not as requested, or needs attention soon
	SeverityInfo    = "info"    // something is as requested, but worth knowing
)

// Problem is something that needs attention.
type Problem struct {
	Severity string `json:"severity"`
	// PV is the PV that it is about, or empty.
	PV string `json:"pv,omitempty"`
	// Text says what is wrong, and Advice what to do.
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// Checked is the result of checking a manifest.
type Checked struct {
	Errors   []Finding `json:"errors"`
	Warnings []string  `json:"warnings"`
	// Manifest is the manifest in YAML, with its fields in the usual order. It is empty if the text is
	// not one object.
	Manifest string `json:"manifest,omitempty"`
	// Group is the group as it would be applied. It is nil if there are errors.
	Group *Group `json:"group,omitempty"`
}

// Finding is an error in a manifest.
type Finding struct {
	// Field is the path of the field, such as spec.sampling.period. It is empty if the error is not
	// about one field.
	Field string `json:"field,omitempty"`
	Line  int    `json:"line,omitempty"`
	Error string `json:"error"`
}
