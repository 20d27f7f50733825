// Package controllers has a thin reconciler per kind, which read like recipes:
// fetch, observe, plan (pure, in the packages below), apply, prune, status.
//
//	Archiver ─────▶ ArchiverReconciler ── render ──▶ Deployments, Services, Job, …
//	ArchiveGroups ─▶ ShardsReconciler ── compile, placement ──▶ channel lists, ArchiveShards
//	ConfigMaps ──────▲      │   ▲                                    │
//	ChannelFinder ───┘  Outcomes └── fleet ◀── reports ── engine (agent)
//	                        ▼          ▼
//	ArchiveGroup ─▶ GroupReconciler ── groupstatus ──▶ status of the group
package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/groups/compile"
)

// Outcome is what the latest compilation of an Archiver's groups came to.
type Outcome struct {
	// Groups has what to tell each group, by namespace/name.
	Groups map[string]*compile.Group
	// Generations are those of the groups that were compiled, by namespace/name.
	Generations map[string]int64
	// Unplaced is the number of shards with channels that no engine captures
	// yet; Moving of those that are on the way from one engine to another.
	Unplaced, Moving int
	// Moves is how far these have come.
	Moves MovesProgress
	// Outdated are the shards, by group (namespace/name), whose engine does not
	// capture the lists of the latest compilation yet.
	Outdated map[string]int
}

// Outcomes has the latest Outcome of every Archiver. ShardsReconciler puts them
// there, the others read them. It is safe for concurrent use.
type Outcomes struct {
	mu  sync.RWMutex
	of  map[types.NamespacedName]*Outcome
	put func(archiver types.NamespacedName)
}

// NewOutcomes returns an empty set. put is called after each Put and Delete,
// and must not block.
func NewOutcomes(put func(archiver types.NamespacedName)) *Outcomes {
	return &Outcomes{of: map[types.NamespacedName]*Outcome{}, put: put}
}

// Get returns the latest outcome, which must not be changed; nil if there is none.
func (o *Outcomes) Get(archiver types.NamespacedName) *Outcome {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.of[archiver]
}

// Put replaces the outcome of an Archiver.
func (o *Outcomes) Put(archiver types.NamespacedName, out *Outcome) {
	o.mu.Lock()
	o.of[archiver] = out
	o.mu.Unlock()
	o.put(archiver)
}

// Delete forgets an Archiver.
func (o *Outcomes) Delete(archiver types.NamespacedName) {
	o.mu.Lock()
	delete(o.of, archiver)
	o.mu.Unlock()
	o.put(archiver)
}
