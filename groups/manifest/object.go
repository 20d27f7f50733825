package manifest

import (
	"errors"
	"fmt"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// Object is an object in a file, of any kind. It may be invalid in any way.
type Object struct {
	File                              string
	APIVersion, Kind, Namespace, Name string

	content map[string]any
	doc     *document
	path    string // of the object in its document: "", or items[3] in a List
}

// Objects returns the objects of a file, also those in a List. name stands for the name of the file.
func Objects(name string, content []byte) (list []*Object, errs []*Error) {
	for _, doc := range split(content) {
		obj, err := doc.decode()
		if err != nil {
			line := doc.line
			if p, ok := errors.AsType[lineError](err); ok {
				line = p.line
			}
			errs = append(errs, &Error{File: name, Line: line, Err: err})
			continue
		}
		if obj == nil { // only comments
			continue
		}
		items, isList := obj["items"].([]any)
		if !isList || !isListKind(obj) {
			list = append(list, newObject(name, doc, "", obj))
			continue
		}
		for i, item := range items {
			path := fmt.Sprintf("items[%d]", i)
			if content, ok := item.(map[string]any); ok {
				list = append(list, newObject(name, doc, path, content))
				continue
			}
			line, column := doc.place(path)
			errs = append(errs, &Error{File: name, Line: line, Column: column, Err: fmt.Errorf("%s is no object", path)})
		}
	}
	return list, errs
}

// isListKind reports whether an object is a list of objects, as kubectl get -o yaml prints it.
func isListKind(obj map[string]any) bool {
	kind, _ := obj["kind"].(string)
	switch obj["apiVersion"] {
	case "v1":
		return kind == "List" || kind == "ConfigMapList"
	case v1alpha1.GroupVersion.String():
		return strings.HasSuffix(kind, "List")
	}
	return false
}

func newObject(file string, doc *document, path string, content map[string]any) *Object {
	o := &Object{File: file, content: content, doc: doc, path: path}
	o.APIVersion, _ = content["apiVersion"].(string)
	o.Kind, _ = content["kind"].(string)
	if meta, ok := content["metadata"].(map[string]any); ok {
		o.Name, _ = meta["name"].(string)
		o.Namespace, _ = meta["namespace"].(string)
	}
	return o
}

// Place returns the line and the column of a field of the object, such as spec.channels[3].sampling, or those of the
// innermost parent that exists. An empty field means the object. The first call parses the document again.
func (o *Object) Place(field string) (line, column int) {
	if o.path == "" || field == "" {
		return o.doc.place(o.path + field)
	}
	return o.doc.place(o.path + "." + field)
}

// wrap adds the place and the name of the object to an error about it.
func (o *Object) wrap(err error) *Error {
	out := &Error{File: o.File, Err: err}
	out.Line, out.Column = o.Place(fieldOf(err))
	if o.Kind == v1alpha1.KindArchiveGroup {
		out.Group = o.Name
	}
	return out
}
