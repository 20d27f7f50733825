package manifest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"varve.dev/varve/api/v1alpha1"
)

// LoadPolicies returns the ArchivePolicies of a file, or all that is wrong with it. One error makes the whole file
// invalid, because the other policies alone could show or refuse too much. A file without policies is an error, too:
// it may be one that somebody is writing.
func LoadPolicies(path string) ([]v1alpha1.ArchivePolicy, error) {
	content, err := readBounded(path)
	if err != nil {
		return nil, &Error{File: path, Err: err}
	}
	var list []v1alpha1.ArchivePolicy
	var errs []error
	lines := map[string]int{} // by name
	for _, doc := range split(content) {
		p, invalid := doc.policy()
		for _, err := range invalid {
			line, column := doc.place(fieldOf(err))
			if at, ok := errors.AsType[lineError](err); ok {
				line, column = at.line, 0
			}
			errs = append(errs, &Error{File: path, Line: line, Column: column, Err: err})
		}
		if p == nil {
			continue
		}
		if first, twice := lines[p.Name]; twice {
			errs = append(errs, &Error{File: path, Line: doc.line, Err: fmt.Errorf("the ArchivePolicy %s is also in line %d: give it another name", p.Name, first)})
		}
		lines[p.Name] = doc.line
		list = append(list, *p)
	}
	if len(list) == 0 && len(errs) == 0 {
		errs = append(errs, &Error{File: path, Err: fmt.Errorf("the file has no %s; to have no policies, start without the file", v1alpha1.KindArchivePolicy)})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return list, nil
}

// policy returns the policy of a document, or what is wrong with it. A document of comments has neither.
func (d *document) policy() (*v1alpha1.ArchivePolicy, []error) {
	obj, err := d.decode()
	if err != nil {
		return nil, []error{err}
	}
	if obj == nil {
		return nil, nil
	}
	version, kind := v1alpha1.GroupVersion.String(), v1alpha1.KindArchivePolicy
	if obj["apiVersion"] != version || obj["kind"] != kind {
		return nil, []error{fmt.Errorf("apiVersion is %v and kind is %v: the file may contain only %s of %s",
			quote(obj["apiVersion"]), quote(obj["kind"]), kind, version)}
	}
	if meta, ok := obj["metadata"].(map[string]any); ok && meta["namespace"] == nil {
		meta["namespace"] = "default"
	}
	delete(obj, "status")
	if errs := checkerOf(v1alpha1.KindArchivePolicy).complete(obj); len(errs) > 0 {
		return nil, errs
	}
	p := &v1alpha1.ArchivePolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, p); err != nil {
		return nil, []error{fmt.Errorf("decoding: %w", err)}
	}
	return p, nil
}

// WatchPolicies reads a file of ArchivePolicies, and reads it again after every change, until ctx ends. It calls changed
// with the first result of LoadPolicies and with every different one, one call at a time. It reports a change only when the
// next read gives the same result, because a file that is being written may lack policies.
func WatchPolicies(ctx context.Context, path string, changed func([]v1alpha1.ArchivePolicy, error)) {
	n := newNotifier(filepath.Clean(path))
	defer n.close()
	last := loadPolicies(path)
	changed(last.list, last.err)
	seen := last
	for n.wait(ctx, !seen.equal(last)) {
		next := loadPolicies(path)
		if next.equal(seen) && !next.equal(last) {
			last = next
			changed(last.list, last.err)
		}
		seen = next
	}
}

// policies are a result of LoadPolicies.
type policies struct {
	list []v1alpha1.ArchivePolicy
	err  error
}

func loadPolicies(path string) (p policies) {
	p.list, p.err = LoadPolicies(path)
	return p
}

func (p policies) equal(o policies) bool {
	return text(p.err) == text(o.err) && equality.Semantic.DeepEqual(p.list, o.list)
}

// text returns the text of an error, or "".
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
