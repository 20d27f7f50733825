package group

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/groupstatus"
	"varve.dev/varve/controllers/wakeup"
)

// observe gathers the input of the status.
func (r *Reconciler) observe(ctx context.Context, group *v1alpha1.ArchiveGroup) (groupstatus.Input, error) {
	in := groupstatus.Input{Group: group, Synced: r.Fleet.Synced(), Now: time.Now()}
	archiver := wakeup.ArchiverOfGroup(group)
	switch err := r.Client.Get(ctx, archiver, &v1alpha1.Archiver{}); {
	case apierrors.IsNotFound(err):
		return in, nil
	case err != nil:
		return in, fmt.Errorf("getting the Archiver: %w", err)
	}
	in.ArchiverFound = true
	name := group.Namespace + "/" + group.Name
	if o := r.Outcomes.Get(archiver); o != nil {
		in.Compiled, in.CompiledGeneration = o.Groups[name], o.Generations[name]
		in.Outdated, in.Unplaced, in.Deletions = o.Outdated[name], o.Unplaced, o.Deletions[name]
	}
	engines, err := r.Fleet.Engines(ctx, archiver)
	if err != nil {
		return in, fmt.Errorf("listing engines: %w", err)
	}
	for _, e := range engines {
		if e.Report != nil {
			in.Reports = append(in.Reports, *e.Report)
		}
	}
	return in, nil
}
