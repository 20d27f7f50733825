// Package requests changes ArchiveGroups in the API server, for scripts that request it:
//
//	request ─▶ Edit ─▶ GET the groups that accept requests ─▶ groups/requests decides ─▶ PATCH spec.channels
//	                            ▲                                                            │
//	                            └──────────── somebody else changed the group meanwhile ◀────┘
//
// The service account of the pod needs the right to patch these groups, which the chart of the archive grants by name.
package requests

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/groups/requests"
)

// FieldManager is the name under which the API server remembers who set the fields.
const FieldManager = "varve-requests"

const (
	// maxGroups is the maximum number of groups of an archive that accept requests. A request reads all of them.
	maxGroups = 64
	// maxTries is how often a group is read again because somebody else changed it.
	maxTries = 5
	// timeout is how long a request may take in all.
	timeout = 30 * time.Second
)

// Editor changes ArchiveGroups. The caller sets its fields before use.
type Editor struct {
	Client    client.Client
	Namespace string
	Archiver  string
	// Accepting returns the names of the groups that accept requests. known is false until the API server has listed them.
	Accepting func() (names []string, known bool)
	// Policies returns the current policies. known is false while they are not known.
	Policies func() (policies *policy.Set, known bool)
	Now      func() time.Time
	Log      *slog.Logger
}

// errNotKnown is why requests are refused until the API server has answered.
var errNotKnown = &edit.Refusal{
	Code: http.StatusServiceUnavailable, Text: "the API server has not listed the ArchiveGroups and ArchivePolicies yet; repeat the request in a few seconds",
}

// Edit carries out a request. It is an edit.Editor.
func (e *Editor) Edit(ctx context.Context, r *edit.Request) ([]edit.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	results := make([]edit.Result, len(r.Channels))
	rest := *r
	at := make([]int, len(r.Channels)) // the indexes in results of the channels of rest
	for i := range at {
		at[i] = i
	}
	for range maxTries {
		done, retry, err := e.try(ctx, &rest)
		if err != nil {
			return e.partly(results, at, err)
		}
		var again []edit.Channel
		var indexes []int
		for i := range done {
			if retry[done[i].Group] && done[i].Outcome == edit.Done {
				again, indexes = append(again, rest.Channels[i]), append(indexes, at[i])
			}
			results[at[i]] = done[i]
		}
		if len(again) == 0 {
			return results, nil
		}
		rest.Channels, at = again, indexes
	}
	for _, i := range at {
		results[i].Outcome = edit.Refused
		results[i].Reason = fmt.Sprintf("others changed ArchiveGroup %s %d times meanwhile; repeat the request", results[i].Group, maxTries)
	}
	return results, nil
}

// partly returns the results of a request that failed after it had changed a group. at are the indexes of the channels that are
// not changed.
func (e *Editor) partly(results []edit.Result, at []int, err error) ([]edit.Result, error) {
	if len(at) == len(results) {
		return nil, err
	}
	e.Log.Error("a request was carried out only for some of its PVs", "err", err)
	for _, i := range at {
		results[i].Outcome, results[i].Reason = edit.Refused, "the API server did not answer; repeat the request for this PV"
	}
	return results, nil
}

// try plans a request with the present groups, and stores the changed ones. It returns the groups that somebody else changed
// meanwhile.
func (e *Editor) try(ctx context.Context, r *edit.Request) (results []edit.Result, retry map[string]bool, err error) {
	policies, known := e.Policies()
	if !known {
		return nil, nil, errNotKnown
	}
	groups, err := e.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	byName := map[string]*v1alpha1.ArchiveGroup{}
	for _, g := range groups {
		byName[g.Name] = g
	}
	changed, results := requests.Plan(groups, r, policies, e.Now())
	retry = map[string]bool{}
	for _, g := range changed {
		name := g.Namespace + "/" + g.Name
		patch := client.MergeFromWithOptions(byName[g.Name], client.MergeFromWithOptimisticLock{})
		err := e.Client.Patch(ctx, g, patch, client.FieldOwner(FieldManager))
		switch {
		case err == nil:
		case apierrors.IsConflict(err):
			retry[name] = true
		default:
			e.Log.Warn("a request cannot change an ArchiveGroup", "group", name, "err", err)
			fail(results, name, err)
		}
	}
	return results, retry, nil
}

// read reads the groups of the archive that accept requests.
func (e *Editor) read(ctx context.Context) (groups []*v1alpha1.ArchiveGroup, err error) {
	names, known := e.Accepting()
	switch {
	case !known:
		return nil, errNotKnown
	case len(names) > maxGroups:
		return nil, &edit.Refusal{Code: http.StatusForbidden, Text: fmt.Sprintf(
			"%d ArchiveGroups accept requests, and at most %d may: remove spec.requests from some", len(names), maxGroups)}
	}
	for _, name := range names {
		g := &v1alpha1.ArchiveGroup{}
		err := e.Client.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: name}, g)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			e.Log.Error("reading an ArchiveGroup for a request failed", "group", name, "err", err)
			return nil, &edit.Refusal{Code: http.StatusServiceUnavailable, Text: "the API server does not answer, so ArchiveGroups cannot be changed; repeat the request later"}
		case g.Spec.Requests != nil && g.Spec.ArchiverRef.Name == e.Archiver:
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// fail makes results say that a group could not be changed. An error of the API server may name policies, so only errors about
// the new content are for the sender.
func fail(results []edit.Result, group string, err error) {
	why := fmt.Sprintf("the API server did not change ArchiveGroup %s; the log of the archive says why", group)
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err):
		why = fmt.Sprintf("the API server does not let the archive change ArchiveGroup %s: its service account needs the right to patch it; the log of the archive says more", group)
	case apierrors.IsInvalid(err) && errors.As(err, &status):
		why = fmt.Sprintf("ArchiveGroup %s would be invalid: %s", group, status.Status().Message)
	}
	for i := range results {
		if results[i].Group == group && results[i].Outcome == edit.Done {
			results[i] = edit.Result{Outcome: edit.Refused, Group: group, Reason: why}
		}
	}
}
