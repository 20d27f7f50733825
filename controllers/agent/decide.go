package agent

import (
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// presence is how much of an ArchiveShard there is to see.
type presence uint8

const (
	// missing: the API server has none, or can not be asked.
	missing presence = iota
	// unlabelled: there is one, but it lost the label of this engine.
	unlabelled
	// present: as it should be.
	present
)

// known is all that is known of one shard when it is decided upon.
type known struct {
	engine   string // the name of this engine
	presence presence
	// spec and status are as seen last; status may be nil.
	spec   *v1alpha1.ArchiveShardSpec
	status *v1alpha1.ArchiveShardStatus
	// before is the decision in force.
	before decision
}

// decision says what an engine does with a shard.
type decision struct {
	// hold: capture it.
	hold bool
	// seal it, too.
	seal bool
	// drain: an order to stop is there.
	drain bool
	// released: an order to stop was carried out. It holds as long as the order
	// does, so that a successor that stumbles later does not bring the shard back.
	released bool
	// orphaned: the shard is held, but its ArchiveShard is missing, has no label
	// for this engine or does not name it.
	orphaned bool
	// message says what is wrong, for people.
	message string
}

// Messages of decisions.
const (
	sayUnlabelled = "the label for this engine is missing; capture goes on"
	sayUnnamed    = "the spec does not name this engine and never told it to drain; capture goes on"
	sayWaiting    = "waiting until another engine captures"
)

// decide is the rule of who captures: see the package comment.
func decide(k known) decision {
	d := k.before
	d.message = ""
	if k.presence == missing {
		d.orphaned = d.hold
		return d
	}
	if len(k.spec.Engines) > 0 {
		d.seal = k.spec.Engines[0].Name == k.engine
	}
	order, named := orderFor(k.spec, k.engine)
	d.drain = order == v1alpha1.OrderDrain
	switch {
	case !named:
		d.released = false
	case !d.drain:
		d.hold, d.released = true, false
	case d.released || !d.hold && phaseOf(k.status, k.engine) == v1alpha1.Drained || successor(k):
		d.hold, d.released = false, true
	default:
		d.hold, d.message = true, sayWaiting
	}
	d.orphaned = d.hold && (!named || k.presence == unlabelled)
	switch {
	case !d.hold:
		d.seal = false
	case !named:
		d.message = sayUnnamed
	case k.presence == unlabelled:
		d.message = sayUnlabelled
	}
	return d
}

// orderFor returns the order for an engine.
func orderFor(spec *v1alpha1.ArchiveShardSpec, engine string) (order v1alpha1.EngineOrder, named bool) {
	i := slices.IndexFunc(spec.Engines, func(e v1alpha1.ShardEngine) bool { return e.Name == engine })
	if i < 0 {
		return "", false
	}
	return spec.Engines[i].Order, true
}

// successor reports whether another engine has the order to capture and does.
func successor(k known) bool {
	return slices.ContainsFunc(k.spec.Engines, func(e v1alpha1.ShardEngine) bool {
		return e.Name != k.engine && e.Order == v1alpha1.OrderCapture && phaseOf(k.status, e.Name) == v1alpha1.Capturing
	})
}

// phaseOf returns what an engine said; empty: nothing.
func phaseOf(status *v1alpha1.ArchiveShardStatus, engine string) v1alpha1.ShardPhase {
	if e := entryOf(status, engine); e != nil {
		return e.Phase
	}
	return ""
}

// entryOf returns an engine's entry, which must not be changed; nil: none.
func entryOf(status *v1alpha1.ArchiveShardStatus, engine string) *v1alpha1.ShardEngineStatus {
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
