package standalone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/requests"
)

// accepting are the files of the groups that accept requests. It is nil before the files were read.
type accepting map[string]bool

// publishAccepting makes the files of groups that accept requests known to Edit.
func (d *Driver) publishAccepting() {
	files := accepting{}
	for i := range d.files.Groups {
		g := &d.files.Groups[i]
		if file := d.files.Files[g.Namespace+"/"+g.Name]; g.Spec.Requests != nil && file != "" {
			files[file] = true
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.accepting = files
}

// Edit carries out a request by changing the files of the groups that accept it. Run reads them again at once.
func (d *Driver) Edit(ctx context.Context, r *edit.Request) ([]edit.Result, error) {
	d.mu.Lock()
	files := d.accepting
	d.mu.Unlock()
	if files == nil {
		return nil, &edit.Refusal{Code: http.StatusServiceUnavailable, Text: "the manifests are not read yet; repeat the request in a few seconds"}
	}
	select { // one edit at a time, because each reads and writes whole files
	case d.editing() <- struct{}{}:
		defer func() { <-d.editing() }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e := edition{texts: map[string][]byte{}, files: map[string]string{}}
	for file := range files {
		if err := e.read(file); err != nil {
			return nil, err
		}
	}
	policies, _ := d.Policies.sets()
	changed, results := requests.Plan(e.groups, r, policies, time.Now())
	for _, g := range changed {
		if err := e.write(g); err != nil {
			d.Log.Warn("a request cannot change the manifest of an ArchiveGroup", "group", g.Namespace+"/"+g.Name, "err", err)
			e.fail(results, g, err)
		}
	}
	return results, nil
}

// editing returns the channel of capacity 1 that is full during an edit. It is never closed.
func (d *Driver) editing() chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.oneEdit == nil {
		d.oneEdit = make(chan struct{}, 1)
	}
	return d.oneEdit
}

// edition is the files that one request may change, as they are now.
type edition struct {
	texts  map[string][]byte // by file
	files  map[string]string // by namespace/name of the group
	groups []*v1alpha1.ArchiveGroup
}

// read reads a file, and collects its groups that accept requests. A file that is gone has none.
func (e *edition) read(file string) error {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("reading a manifest: %w", err)
	}
	parsed := manifest.Parse(file, text)
	if err := parsed.Err(); err != nil {
		return &edit.Refusal{Code: http.StatusConflict, Text: fmt.Sprintf("the manifest %s is invalid, so requests cannot change it; correct it first", filepath.Base(file))}
	}
	e.texts[file] = text
	for i := range parsed.Groups {
		if g := &parsed.Groups[i]; g.Spec.Requests != nil {
			e.files[g.Namespace+"/"+g.Name] = file
			e.groups = append(e.groups, g)
		}
	}
	slices.SortStableFunc(e.groups, func(a, b *v1alpha1.ArchiveGroup) int { return compareNames(a, b) })
	return nil
}

// write writes the file of a group.
func (e *edition) write(g *v1alpha1.ArchiveGroup) error {
	file := e.files[g.Namespace+"/"+g.Name]
	text, err := manifest.SetChannels(filepath.Base(file), e.texts[file], g)
	if err != nil {
		return err
	}
	if err := replaceFile(file, e.texts[file], text); err != nil {
		return err
	}
	e.texts[file] = text
	return nil
}

// fail makes results say that a group could not be changed.
func (e *edition) fail(results []edit.Result, g *v1alpha1.ArchiveGroup, err error) {
	name := g.Namespace + "/" + g.Name
	file := filepath.Base(e.files[name])
	why := fmt.Sprintf("the manifest %s of ArchiveGroup %s was not changed: %v", file, name, err)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnly) {
		why = fmt.Sprintf("varve may not write the manifest %s of ArchiveGroup %s; edit it there, or let the user of varve write its directory", file, name)
	}
	for i := range results {
		if results[i].Group == name && results[i].Outcome == edit.Done {
			results[i] = edit.Result{Outcome: edit.Refused, Group: name, Reason: why}
		}
	}
}
