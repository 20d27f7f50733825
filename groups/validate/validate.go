// Package validate checks the manifests of Git repositories, as an API server and the operator check objects. It is
// pure. The command varve validate prints the result:
//
//	files ──manifest.Objects──▶ objects ──manifest.Check──▶ Archivers, ArchiveGroups, …
//	  │ syntax, duplicates         │ kinds         │ schema, CEL rules      │ by Archiver
//	  ▼                            ▼               ▼                        ▼ compile, ownership, summary
//	Findings of ByFile         skipped      Findings of ByAPIServer    Findings of ByOperator
package validate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/manifest"
)

// File is a file, or another text with manifests.
type File struct {
	Name string
	Text []byte
}

// Options are the options of a check.
type Options struct {
	// Strict makes kinds that are not checked errors.
	Strict bool
	Now    time.Time
}

// Severities of findings.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Finders say who would report a finding.
const (
	ByFile      = "file"       // nobody can apply the file as it is
	ByAPIServer = "api-server" // the API server would refuse the object
	ByOperator  = "operator"   // the operator would report it in the status of the object
)

// Finding is something wrong, or probably wrong, at a place in a file.
type Finding struct {
	File string `json:"file"`
	// Line and Column are counted from 1. They are 0 if unknown.
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"`
	By       string `json:"by"`
	Kind     string `json:"kind,omitempty"`
	// Object is namespace/name.
	Object string `json:"object,omitempty"`
	// Field is a path such as spec.channels[3].sampling.
	Field   string `json:"field,omitempty"`
	PV      string `json:"pv,omitempty"`
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"`
}

// Results of objects.
const (
	Valid   = "valid"
	Invalid = "invalid"
	Skipped = "skipped"
)

// Object is an object in a file.
type Object struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Object     string `json:"object,omitempty"`
	Result     string `json:"result"`
}

// Report is the result of a check. Its lists are never nil.
type Report struct {
	Objects  []Object  `json:"objects"`
	Findings []Finding `json:"findings"`
	// Notes say what was not checked.
	Notes []string `json:"notes"`
}

// Count returns how many findings have a severity.
func (r *Report) Count(severity string) (n int) {
	for i := range r.Findings {
		if r.Findings[i].Severity == severity {
			n++
		}
	}
	return n
}

// CountObjects returns how many objects have a result.
func (r *Report) CountObjects(result string) (n int) {
	for i := range r.Objects {
		if r.Objects[i].Result == result {
			n++
		}
	}
	return n
}

// Check checks files.
func Check(files []File, o Options) *Report {
	c := checker{options: o, seen: map[string]*manifest.Object{}, kinds: map[string]bool{}}
	c.report = Report{Objects: []Object{}, Findings: []Finding{}, Notes: []string{}}
	for _, f := range files {
		objects, errs := manifest.Objects(f.Name, f.Text)
		for _, err := range errs {
			c.add(nil, ByFile, err)
		}
		for _, obj := range objects {
			c.check(obj)
		}
	}
	for kind := range c.kinds {
		if rules := manifest.Transitions(kind); len(rules) > 0 {
			c.report.Notes = append(c.report.Notes, transitionNote(kind, rules))
		}
	}
	slices.Sort(c.report.Notes)
	c.compile()
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &c.report
}

// checker is one run of Check.
type checker struct {
	options Options
	report  Report
	seen    map[string]*manifest.Object // by kind and name
	kinds   map[string]bool             // of Varve, in the files

	archivers  []of[*v1alpha1.Archiver]
	groups     []of[*v1alpha1.ArchiveGroup]
	policies   []of[*v1alpha1.ArchivePolicy]
	configMaps []of[*corev1.ConfigMap]
}

// of is a valid object, and where it is.
type of[T any] struct {
	it T
	at *manifest.Object
}

// check checks an object by itself.
func (c *checker) check(obj *manifest.Object) {
	result := c.judge(obj)
	line, column := obj.Place("")
	c.report.Objects = append(c.report.Objects, Object{
		File: obj.File, Line: line, Column: column, APIVersion: obj.APIVersion, Kind: obj.Kind, Object: nameOf(obj), Result: result,
	})
}

func nameOf(obj *manifest.Object) string {
	if obj.Namespace == "" {
		return obj.Name
	}
	return obj.Namespace + "/" + obj.Name
}

func (c *checker) judge(obj *manifest.Object) string {
	if !obj.IsKnown() {
		return c.skip(obj)
	}
	found, errs := obj.Check()
	if first := c.seen[key(obj)]; first != nil && obj.Name != "" {
		line, _ := first.Place("")
		c.add(obj, ByFile, fmt.Errorf("the same object is also in %s:%d: only one of the two would stay", first.File, line))
		return Invalid
	}
	c.seen[key(obj)] = obj
	for _, err := range errs {
		c.add(obj, ByAPIServer, err)
	}
	if len(errs) > 0 {
		return Invalid
	}
	switch it := found.(type) {
	case *v1alpha1.Archiver:
		c.archivers = append(c.archivers, of[*v1alpha1.Archiver]{it, obj})
	case *v1alpha1.ArchiveGroup:
		c.groups = append(c.groups, of[*v1alpha1.ArchiveGroup]{it, obj})
	case *v1alpha1.ArchivePolicy:
		c.policies = append(c.policies, of[*v1alpha1.ArchivePolicy]{it, obj})
	case *corev1.ConfigMap:
		c.configMaps = append(c.configMaps, of[*corev1.ConfigMap]{it, obj})
		return Valid
	}
	c.kinds[obj.Kind] = true
	return Valid
}

func key(obj *manifest.Object) string { return obj.Kind + " " + nameOf(obj) }

// skip decides about an object of a kind that is not Varve's.
func (c *checker) skip(obj *manifest.Object) string {
	why, ours := obj.Resembles()
	switch {
	case ours:
		c.add(obj, ByFile, errors.New(why))
		return Invalid
	case c.options.Strict:
		c.add(obj, ByFile, fmt.Errorf("%s: it cannot be checked", foreign(obj.Kind, obj.APIVersion)))
		return Invalid
	case why != "":
		c.addFinding(obj, "", Finding{Severity: SeverityWarning, By: ByFile, Message: why})
	}
	return Skipped
}

func foreign(kind, apiVersion string) string {
	if kind == "" {
		return "the document has no apiVersion and no kind"
	}
	return fmt.Sprintf("kind %s of %s is not Varve's", kind, apiVersion)
}

// Foreign says why an object was skipped.
func (o *Object) Foreign() string { return foreign(o.Kind, o.APIVersion) }

// add adds an error. Its place is that of a manifest.Error, or that of the object.
func (c *checker) add(obj *manifest.Object, by string, err error) {
	f := Finding{Severity: SeverityError, By: by, Message: err.Error()}
	at, ok := errors.AsType[*manifest.Error](err)
	if !ok {
		c.addFinding(obj, "", f)
		return
	}
	f.File, f.Line, f.Column, f.Field, f.Message = at.File, at.Line, at.Column, at.Field(), at.Err.Error()
	if obj != nil {
		f.Kind, f.Object = obj.Kind, nameOf(obj)
	}
	c.report.Findings = append(c.report.Findings, f)
}

// addFinding adds a finding about a field of an object.
func (c *checker) addFinding(obj *manifest.Object, field string, f Finding) {
	f.File, f.Kind, f.Object, f.Field = obj.File, obj.Kind, nameOf(obj), field
	f.Line, f.Column = obj.Place(field)
	c.report.Findings = append(c.report.Findings, f)
}

// mostRules is the number of rules in a note.
const mostRules = 3

func transitionNote(kind string, rules []string) string {
	text := fmt.Sprintf("%s: %d rules about changes of an existing object are not checked, because the files do not have the former object: ", kind, len(rules))
	for i, rule := range rules[:min(len(rules), mostRules)] {
		if i > 0 {
			text += "; "
		}
		text += rule
	}
	if len(rules) > mostRules {
		text += "; …"
	}
	return text
}
