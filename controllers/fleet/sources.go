package fleet

import (
	"sigs.k8s.io/controller-runtime/pkg/source"

	"varve.dev/varve/controllers/wakeup"
)

// Changes is a source of requests for an Archiver. It sends them when an engine of the
// Archiver appears, dies, comes back to life, or begins to leave. It does not report changes
// of pods, because reconcilers watch pods themselves.
func (f *Fleet) Changes(requests wakeup.Requests) source.Source { return f.changes.Source(requests) }

// Reports is a source of requests for each Archiver. It sends them after every round of
// reports from the engines of the Archiver.
func (f *Fleet) Reports(requests wakeup.Requests) source.Source { return f.reports.Source(requests) }
