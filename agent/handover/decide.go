// Package handover is the rule of what an engine does with a shard, and of what it says
// of it: pure functions of what is known.
//
//	spec, status, presence, ─▶ Decide ─▶ Decision ─┬─▶ engine
//	decision before ────────▶                      └─▶ Say ─▶ phase ─▶ status
//	channels connected, time ─▶ Joining.Done ─▶ joined ─▲
//
// The agent of an engine goes by it, and so does the simulation in test/handover.
package handover

import (
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// Presence is how much of an ArchiveShard there is to see.
type Presence uint8

// What there is to see.
const (
	Missing    Presence = iota // the API server has none, or can not be asked
	Unlabelled                 // there is one, but it lost the label of this engine
	Present                    // as it should be
)

// Known is all that is known of one shard when it is decided upon.
type Known struct {
	Engine   string // the name of this engine
	Presence Presence
	// Spec and Status are as seen last; Status may be nil.
	Spec   *v1alpha1.ArchiveShardSpec
	Status *v1alpha1.ArchiveShardStatus
	// Before is the decision in force.
	Before Decision
}

// Decision says what an engine does with a shard.
type Decision struct {
	// Hold: capture it.
	Hold bool
	// Seal: seal it, too.
	Seal bool
	// Drain: an order to stop is there.
	Drain bool
	// Released: an order to stop was carried out. It holds as long as the order
	// does, so that a successor that stumbles later does not bring the shard back.
	Released bool
	// Orphaned: the shard is held, but its ArchiveShard is missing, has no label
	// for this engine or does not name it.
	Orphaned bool
	// Message says what is wrong, for people.
	Message string
}

// Messages of decisions.
const (
	sayUnlabelled = "the label for this engine is missing; capture goes on"
	sayUnnamed    = "the spec does not name this engine and never told it to drain; capture goes on"
	sayWaiting    = "waiting until another engine captures"
)

// Decide is the rule of who captures. Absence never stops capture: what is held
// ends only by an order to drain, while another engine that has the order to
// capture says that it does.
func Decide(k Known) Decision {
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
		d.Hold, d.Message = true, sayWaiting
	}
	d.Orphaned = d.Hold && (!named || k.Presence == Unlabelled)
	switch {
	case !d.Hold:
		d.Seal = false
	case !named:
		d.Message = sayUnnamed
	case k.Presence == Unlabelled:
		d.Message = sayUnlabelled
	}
	return d
}

// Order returns the order for an engine.
func Order(spec *v1alpha1.ArchiveShardSpec, engine string) (order v1alpha1.EngineOrder, named bool) {
	i := slices.IndexFunc(spec.Engines, func(e v1alpha1.ShardEngine) bool { return e.Name == engine })
	if i < 0 {
		return "", false
	}
	return spec.Engines[i].Order, true
}

// Succeeded reports whether an engine other than the one named has the order to
// capture and does.
func Succeeded(spec *v1alpha1.ArchiveShardSpec, status *v1alpha1.ArchiveShardStatus, engine string) bool {
	return slices.ContainsFunc(spec.Engines, func(e v1alpha1.ShardEngine) bool {
		return e.Name != engine && e.Order == v1alpha1.OrderCapture && phaseOf(status, e.Name) == v1alpha1.Capturing
	})
}

// phaseOf returns what an engine said; empty: nothing.
func phaseOf(status *v1alpha1.ArchiveShardStatus, engine string) v1alpha1.ShardPhase {
	if e := Entry(status, engine); e != nil {
		return e.Phase
	}
	return ""
}

// Entry returns an engine's entry, which must not be changed; nil: none.
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
