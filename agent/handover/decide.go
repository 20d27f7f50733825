// Package handover decides whether an engine holds, seals, drains or releases a shard, and
// which phase it reports. It consists of pure functions between the agent's view of the
// ArchiveShard and the engine:
//
//	spec, status, presence, ─▶ Decide ─▶ Decision ─┬─▶ engine
//	previous decision ──────▶                      └─▶ Phase ───▶ status
//	channels connected, time ─▶ Joining.Done ─▶ joined ──▲
//
// The agent of an engine uses it, and so does the simulation in test/handover.
package handover

import (
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// Presence is the state of an ArchiveShard as an engine sees it.
type Presence uint8

// The values of Presence.
const (
	Missing    Presence = iota // the API server has no such object, or does not answer
	Unlabelled                 // the object lacks the label of this engine
	Present                    // the object exists and has the label
)

// Input is everything that a decision about one shard depends on.
type Input struct {
	Engine   string // name of this engine
	Presence Presence
	// Spec and Status are the last known spec and status. Status may be nil.
	Spec   *v1alpha1.ArchiveShardSpec
	Status *v1alpha1.ArchiveShardStatus
	// Before is the previous decision.
	Before Decision
}

// Decision is what an engine does with a shard.
type Decision struct {
	// Hold means that the engine captures the shard.
	Hold bool
	// Seal means that the engine also seals the shard.
	Seal bool
	// Drain means that the spec orders the engine to drain the shard.
	Drain bool
	// Released means that the engine has carried out an order to drain. It stays set as
	// long as the order exists, so that the engine does not take the shard back when its
	// successor restarts.
	Released bool
	// Orphaned means that the engine holds the shard although its ArchiveShard is missing,
	// lacks the label of this engine, or does not name the engine.
	Orphaned bool
	// Message describes to users what is wrong.
	Message string
}

// Messages of decisions.
const (
	messageUnlabelled = "the ArchiveShard lacks the label of this engine; capture continues"
	messageUnnamed    = "the spec no longer names this engine, but never ordered it to drain; capture continues"
	messageWaiting    = "waiting until another engine captures the shard"
)

// Decide decides whether an engine captures a shard. A missing object never stops capture:
// an engine releases a shard only if the spec orders it to drain, and another engine, which
// has the order to capture, reports that it captures.
func Decide(k Input) Decision {
	d := k.Before
	d.Message = ""
	if k.Presence == Missing {
		d.Orphaned = d.Hold
		return d
	}
	if len(k.Spec.Engines) > 0 {
		d.Seal = k.Spec.Engines[0].Name == k.Engine
	}
	order, named := Order(k.Spec, k.Engine)
	d.Drain = order == v1alpha1.OrderDrain
	switch {
	case !named:
		d.Released = false
	case !d.Drain:
		d.Hold, d.Released = true, false
	case d.Released || !d.Hold && phaseOf(k.Status, k.Engine) == v1alpha1.Drained || Succeeded(k.Spec, k.Status, k.Engine):
		d.Hold, d.Released = false, true
	default:
		d.Hold, d.Message = true, messageWaiting
	}
	d.Orphaned = d.Hold && (!named || k.Presence == Unlabelled)
	switch {
	case !d.Hold:
		d.Seal = false
	case !named:
		d.Message = messageUnnamed
	case k.Presence == Unlabelled:
		d.Message = messageUnlabelled
	}
	return d
}

// Order returns the order of an engine. named is false if the spec does not name the engine.
func Order(spec *v1alpha1.ArchiveShardSpec, engine string) (order v1alpha1.EngineOrder, named bool) {
	i := slices.IndexFunc(spec.Engines, func(e v1alpha1.ShardEngine) bool { return e.Name == engine })
	if i < 0 {
		return "", false
	}
	return spec.Engines[i].Order, true
}

// Succeeded reports whether another engine has the order to capture, and reports that it
// captures.
func Succeeded(spec *v1alpha1.ArchiveShardSpec, status *v1alpha1.ArchiveShardStatus, engine string) bool {
	return slices.ContainsFunc(spec.Engines, func(e v1alpha1.ShardEngine) bool {
		return e.Name != engine && e.Order == v1alpha1.OrderCapture && phaseOf(status, e.Name) == v1alpha1.Capturing
	})
}

// phaseOf returns the phase that an engine reported, or "".
func phaseOf(status *v1alpha1.ArchiveShardStatus, engine string) v1alpha1.ShardPhase {
	if e := Entry(status, engine); e != nil {
		return e.Phase
	}
	return ""
}

// Entry returns the status entry of an engine, or nil. The caller must not change it.
func Entry(status *v1alpha1.ArchiveShardStatus, engine string) *v1alpha1.ShardEngineStatus {
	if status == nil {
		return nil
	}
	for i := range status.Engines {
		if status.Engines[i].Name == engine {
			return &status.Engines[i]
		}
	}
	return nil
}
