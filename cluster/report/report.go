// Package report is what an engine tells the operator every few seconds, as JSON
// over HTTP at Path. What changes often goes this way, never through the API
// server:
//
//	engine ──▶ agent ──▶ GET /internal/report ──▶ operator ──▶ status of groups, placement
package report

import "time"

// Path of the report on an engine's HTTP port.
const Path = "/internal/report"

// Report is the state of one engine.
type Report struct {
	// Engine is the name of the pod; Writer identifies the process, as 32
	// hexadecimal digits.
	Engine  string    `json:"engine"`
	Writer  string    `json:"writer"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Storage says why the store does not take samples; empty while it does.
	Storage string `json:"storage,omitempty"`
	// DiskGuard is what the disk guard does; nil while another engine decides that.
	DiskGuard *DiskGuard `json:"diskGuard,omitempty"`
	// Draining says that the engine was asked to end and wants to give up its shards.
	Draining bool `json:"draining,omitempty"`

	// Shards that the engine has to do with, by index.
	Shards []Shard `json:"shards"`
	// Groups by namespace/name. Channels of shards that the engine is joining or
	// draining, or that another one captures first, are left out: that one counts
	// them. Bytes per day are those of this engine all the same.
	Groups map[string]Group `json:"groups"`
	// Second is what the engine captures beside another one that comes first; nil if
	// it captures nothing so. Moves do not count.
	Second *Second `json:"second,omitempty"`
	// Circuits are the IOCs with the most connections from this engine, at most 20.
	Circuits []Circuit `json:"circuits,omitempty"`

	// Received, Stored and Dropped count samples since the start; Pending ones
	// are in memory only.
	Received uint64 `json:"received"`
	Stored   uint64 `json:"stored"`
	Dropped  uint64 `json:"dropped"`
	Pending  uint64 `json:"pending"`
	// MemoryBytes are taken by samples that are in no block yet.
	MemoryBytes int64 `json:"memoryBytes"`
}

// Shard is the state of one shard in an engine.
type Shard struct {
	Index int    `json:"index"`
	Phase string `json:"phase"` // a v1alpha1.ShardPhase
	// Orphaned says that the ArchiveShard is missing, or does not name the
	// engine, which goes on capturing.
	Orphaned  bool `json:"orphaned,omitempty"`
	Sealing   bool `json:"sealing,omitempty"`
	Channels  int  `json:"channels"`
	Connected int  `json:"connected"`
	// Lit channels are connected, and Dark ones are not, for half a minute at least.
	Lit              int     `json:"lit,omitempty"`
	Dark             int     `json:"dark,omitempty"`
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	// BytesPerSecond of values.
	BytesPerSecond float64 `json:"bytesPerSecond"`
	// Circuits that the shard takes. One that n shards of the engine use counts as 1/n
	// in each.
	Circuits float64 `json:"circuits"`
	// Lists that are captured, by name.
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
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	BytesPerDay      float64 `json:"bytesPerDay"`
	// Worst are up to 20 channels with a problem, the longest first.
	Worst []Channel `json:"worst,omitempty"`
}

// Second is what capturing for the second time takes.
type Second struct {
	Channels int `json:"channels"`
	// Circuits that there would not be without.
	Circuits int `json:"circuits"`
	// BytesPerDay of the journal, which those of groups have, too.
	BytesPerDay float64 `json:"bytesPerDay"`
}

// Channel is a channel with a problem.
type Channel struct {
	PV      string    `json:"pv"`
	Reason  string    `json:"reason"` // NeverConnected, Disconnected, Unsupported, Dropping
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Circuit counts the connections to one IOC.
type Circuit struct {
	Host  string `json:"host"` // address, with pva:// in front for pvAccess
	Count int    `json:"count"`
}

// DiskGuard is what the disk guard of an archive does.
type DiskGuard struct {
	Reason string `json:"reason"` // as those of v1alpha1.ConditionDiskGuard
	// Size of the archive, its Limit, and what was deleted and is not free yet, in bytes.
	Size    int64 `json:"size"`
	Limit   int64 `json:"limit"`
	Waiting int64 `json:"waiting"`
	// Before is when the raw samples end that were deleted; nil if none were.
	Before *time.Time `json:"before,omitempty"`
	// Text says why nothing can be done, or what an administrator can do.
	Text string `json:"text,omitempty"`
}
