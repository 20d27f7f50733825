// Package edit describes requests to change which PVs are archived, and what became of them:
//
//	script ─▶ appliance ── Request ─▶ Editor ─▶ groups/requests decides ─▶ a manifest, or an object of the API server
//	   ◀───────────────────── Results ──┘
//
// It imports nothing of ours. The engine knows no ArchiveGroups, so the process that serves gives it an Editor.
package edit

import (
	"context"
	"time"
)

// MaxChannels is the maximum number of PVs in a request. It is also that of the PVs that an ArchiveGroup lists itself.
const MaxChannels = 1000

// Action is what a request asks for.
type Action string

// Actions.
const (
	Archive     Action = "archive"
	Pause       Action = "pause"
	Resume      Action = "resume"
	Remove      Action = "remove" // stop the archiving; stored samples stay
	Abort       Action = "abort"  // remove a PV that has never connected
	AddAlias    Action = "add alias"
	RemoveAlias Action = "remove alias"
	Resample    Action = "change sampling"
)

// Request asks to change how PVs are archived. All of its PVs are visible to the sender.
type Request struct {
	Action   Action
	Channels []Channel
	// User and Groups are the identity of the sender.
	User   string
	Groups []string
}

// Channel is a PV in a request.
type Channel struct {
	// PV is the canonical name.
	PV string
	// Provider is CA or PVA, or "" for the provider of the ArchiveGroup.
	Provider string
	// Group is the ArchiveGroup that the request names, or "". It may lack the namespace.
	Group string
	// Sampling is what the request says about it. It is nil if it says nothing.
	Sampling *Sampling
	// Alias is another name of the PV, or "".
	Alias string

	// Archived is what the archive captures now. It is nil if no group archives the PV.
	Archived *Archived
	// AliasGroup is the ArchiveGroup that archives the alias as a PV of its own, or "".
	AliasGroup string
}

// Archived is how the archive captures a PV now.
type Archived struct {
	Group    string // namespace/name
	Provider string // CA or PVA
	// Connected means that the PV has been connected since the engine captures it.
	Connected bool
}

// Method is how samples are selected.
type Method string

// Methods. The zero value keeps the present one.
const (
	Monitor Method = "MONITOR"
	Scan    Method = "SCAN"
)

// Sampling is a method with its period. Monitor ignores the period.
type Sampling struct {
	Method Method
	Period time.Duration
}

// Outcome is what became of a PV.
type Outcome int

// Outcomes.
const (
	// Done means that the group was changed.
	Done Outcome = iota + 1
	// Unchanged means that the group was as requested already.
	Unchanged
	// Unfit means that the request does not fit to the state of the PV, such as a pause of a PV that is not archived.
	Unfit
	// Refused means that the sender may not change this, or that no group can do it.
	Refused
)

// Result is what became of a PV.
type Result struct {
	Outcome Outcome
	// Group is the ArchiveGroup of the PV (namespace/name), or "" if there is none.
	Group string
	// Reason is why the outcome is not Done, for people.
	Reason string
}

// Editor carries out a request. It returns a result for each channel, in the same order. An error means that nothing
// was changed: a *Refusal, or one that the sender can do nothing about.
type Editor func(context.Context, *Request) ([]Result, error)

// Refusal is why a request as a whole is not carried out.
type Refusal struct {
	Code int // HTTP status code
	Text string
}

func (r *Refusal) Error() string { return r.Text }
