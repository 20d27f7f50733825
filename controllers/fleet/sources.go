package fleet

import (
	"sigs.k8s.io/controller-runtime/pkg/source"

	"varve.dev/varve/controllers/wakeup"
)

// Changes is a source of requests: those for each Archiver one of whose engines
// appeared, died, came back to life, or began to leave. It does not report changes
// of pods: reconcilers watch pods themselves.
func (f *Fleet) Changes(requests wakeup.Requests) source.Source { return f.changes.Source(requests) }

// Reports is a source of requests: those for each Archiver, after every round of
// reports from its engines.
func (f *Fleet) Reports(requests wakeup.Requests) source.Source { return f.reports.Source(requests) }
