// Package outcome passes the results of the shards reconciler to the reconcilers that show
// them in a status.
//
//	shards ── Put ──▶ Latest ── Get ──▶ archiver, group
//	                    └── Changes ──▶ their work queues
package outcome

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/controllers/wakeup"
	"varve.dev/varve/groups/compile"
)

// Outcome is the result of the latest compilation of an Archiver's groups, and of
// the latest placement of its shards.
type Outcome struct {
	// MissingCRD is the CRD of groups or of policies if it is missing, or "". While one is missing, the other fields keep
	// their last values, or are empty.
	MissingCRD string
	// Groups has the result for each group, by namespace/name.
	Groups map[string]*compile.Group
	// Policies has the result for each ArchivePolicy that decides about a PV of a group, by name.
	Policies map[string]*compile.PolicyOutcome
	// Generations has the generation of each compiled group, by namespace/name.
	Generations map[string]int64
	// Unplaced is the number of shards that have channels but no engine. Moving is the number
	// of shards that move between engines.
	Unplaced, Moving int
	// Blind are the engines that do not reach hosts that other engines reach.
	Blind []placement.BlindEngine
	// Moves is the progress of the current wave of moves.
	Moves MovesProgress
	// Outdated maps each group (namespace/name) to the number of its shards whose engine does
	// not capture the lists of the latest compilation yet.
	Outdated map[string]int
	// Deletions has, for each group (namespace/name), how far its deletions of samples are that have begun or may begin.
	Deletions map[string][]Deletion
}

// Deletion is how far a deletion of samples of a group is.
type Deletion struct {
	// Index is the place of the deletion in the group.
	Index int
	// State is the state in the shard in which the deletion is least far. It is empty if nothing is known.
	State v1alpha1.DeletionState
	// Message says what the deletion waits for. Failed means that somebody must act, or that an engine failed.
	Message string
	Failed  bool
}

// Latest has the latest Outcome of every Archiver. The shards reconciler puts the outcomes
// there, and the other reconcilers read them. The zero value is ready to use, and all methods
// are safe for concurrent use.
type Latest struct {
	mu       sync.RWMutex
	outcomes map[types.NamespacedName]*Outcome
	changes  wakeup.Broadcaster
}

// Changes is a source of requests for an Archiver. It sends them when the outcome of the
// Archiver changes.
func (l *Latest) Changes(requests wakeup.Requests) source.Source { return l.changes.Source(requests) }

// Get returns the latest outcome, or nil if there is none. The caller must not change it.
func (l *Latest) Get(archiver types.NamespacedName) *Outcome {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.outcomes[archiver]
}

// Put replaces the outcome of an Archiver. It does not block.
func (l *Latest) Put(archiver types.NamespacedName, o *Outcome) {
	l.mu.Lock()
	if l.outcomes == nil {
		l.outcomes = map[types.NamespacedName]*Outcome{}
	}
	l.outcomes[archiver] = o
	l.mu.Unlock()
	l.changes.Wake(archiver)
}

// Delete forgets an Archiver. It does not block.
func (l *Latest) Delete(archiver types.NamespacedName) {
	l.mu.Lock()
	delete(l.outcomes, archiver)
	l.mu.Unlock()
	l.changes.Wake(archiver)
}
