// Package groups shows the ArchiveGroups of an archive in a retrieval pod:
//
//	ArchiveGroups ── mirror, without their PVs ──▶ All ──▶ /api/v1/groups
//	      └───────────── GET, on request ────────▶ One ──▶ /api/v1/groups/{group}
//
// The PVs of all groups may need more memory than the pod has, so the mirror counts them and forgets
// them.
package groups

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/summary"
)

// Groups knows the groups of an archive. Create it with New. Run keeps it up to date.
type Groups struct {
	client    client.WithWatch
	namespace string
	archiver  string
	mirrored  *mirror.Objects[*v1alpha1.ArchiveGroup]

	mu   sync.Mutex
	seen map[string]overview.Group // by name; also groups that were deleted since the start
}

// New returns the groups of an Archiver, of which it knows none yet.
func New(c client.WithWatch, namespace, archiver string) *Groups {
	g := &Groups{client: c, namespace: namespace, archiver: archiver, seen: map[string]overview.Group{}}
	g.mirrored = mirror.NewObjects[*v1alpha1.ArchiveGroup](c, &v1alpha1.ArchiveGroupList{}, mirror.Select{Namespace: namespace}, func() {})
	g.mirrored.Trim(g.trim)
	return g
}

// Run keeps the groups up to date until ctx ends.
func (g *Groups) Run(ctx context.Context) { g.mirrored.Run(ctx) }

// trim summarizes a group and forgets its PVs.
func (g *Groups) trim(obj *v1alpha1.ArchiveGroup) {
	out := summary.Of(obj, "", nil)
	out.Manifest, out.Spec = "", nil
	obj.Spec.Channels, obj.ManagedFields, obj.Annotations, obj.Status = nil, nil, nil, nil
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[obj.Name] = out
}

// All returns the groups of the archive, without their manifests. missing says why there are none.
func (g *Groups) All() (list []overview.Group, missing string) {
	objects, synced := g.mirrored.All()
	if !synced {
		return nil, "the API server has not listed the ArchiveGroups; the Role of the retrieval pods must allow it, and the API server must be reachable"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, obj := range objects {
		if out, seen := g.seen[name]; seen && obj.Spec.ArchiverRef.Name == g.archiver {
			list = append(list, out)
		}
	}
	return list, ""
}

// Accepting returns the names of the groups of the archive that accept requests of scripts, sorted. known is false until the
// API server has listed the groups.
func (g *Groups) Accepting() (names []string, known bool) {
	objects, synced := g.mirrored.All()
	for name, obj := range objects {
		if obj.Spec.Requests != nil && obj.Spec.ArchiverRef.Name == g.archiver {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, synced
}

// readTimeout is how long reading one group may take.
const readTimeout = 5 * time.Second

// One returns a group with its manifest.
func (g *Groups) One(ctx context.Context, group string) (overview.Group, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, name, _ := strings.Cut(group, "/")
	var obj v1alpha1.ArchiveGroup
	if err := g.client.Get(ctx, client.ObjectKey{Namespace: g.namespace, Name: name}, &obj); err != nil {
		return overview.Group{}, fmt.Errorf("reading the ArchiveGroup: %w", err)
	}
	return summary.Of(&obj, "", nil), nil
}

// Check checks a manifest as the cluster does.
func (g *Groups) Check(text []byte) overview.Checked { return summary.Check(text, "") }
