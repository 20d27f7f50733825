package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
)

// document is one YAML document of a file.
type document struct {
	line int // number of its first line, from 1
	// text starts with an empty line for each line of the file before the document, so that
	// the line numbers of the YAML parser equal the line numbers of the file.
	text []byte
}

// split splits a file at lines that start with "---".
func split(content []byte) []document {
	var docs []document
	begin, line := 0, 1
	add := func(end, first int) {
		text := content[begin:end]
		if len(bytes.TrimSpace(text)) > 0 {
			docs = append(docs, document{line: first, text: append(bytes.Repeat([]byte("\n"), first-1), text...)})
		}
	}
	first := 1
	for at := 0; at < len(content); line++ {
		next := len(content)
		if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if isSeparator(content[at:next]) {
			add(at, first)
			begin, first = next, line+1
		}
		at = next
	}
	add(len(content), first)
	return docs
}

func isSeparator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}

// parse returns the objects and the errors of a file.
func parse(file string, content []byte) (found objects, errs []error) {
	for _, doc := range split(content) {
		obj, err := doc.decode()
		if err != nil {
			line := doc.line
			if p, ok := errors.AsType[lineError](err); ok {
				line = p.line
			}
			errs = append(errs, &Error{File: file, Line: line, Err: err})
			continue
		}
		if obj == nil { // only comments
			continue
		}
		invalid := found.add(obj)
		name := nameOf(obj)
		for _, err := range invalid {
			errs = append(errs, &Error{File: file, Line: doc.lineOf(fieldOf(err)), Group: name, Err: err})
		}
	}
	return found, errs
}

// decode returns the document's object, or nil if it has none.
func (d document) decode() (map[string]any, error) {
	text, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, yamlError(err)
	}
	if string(text) == "null" {
		return nil, nil
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(text, &obj); err != nil {
		var wrongType *json.UnmarshalTypeError
		if errors.As(err, &wrongType) {
			return nil, fmt.Errorf("the document is of type %s instead of an object", wrongType.Value)
		}
		return nil, fmt.Errorf("decoding: %w", err)
	}
	return obj, nil
}

// lineError is an error of the YAML library, with the line number separated from the text.
type lineError struct {
	line int
	text string
}

func (e lineError) Error() string { return e.text }

var yamlLine = regexp.MustCompile(`line (\d+): `)

func yamlError(err error) error {
	var noNumber *json.UnsupportedValueError
	if errors.As(err, &noNumber) {
		return fmt.Errorf("a number is %s: only finite numbers are allowed", noNumber.Str)
	}
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.Join(strings.Fields(text), " ")
	at := yamlLine.FindStringSubmatchIndex(text)
	if at == nil {
		return errors.New(text)
	}
	line, err := strconv.Atoi(text[at[2]:at[3]])
	if err != nil {
		return errors.New(text)
	}
	return lineError{line: line, text: text[:at[0]] + text[at[1]:]}
}

// nameOf returns the name of a group. The group may be invalid in any way.
func nameOf(obj map[string]any) string {
	if obj["kind"] != v1alpha1.KindArchiveGroup {
		return ""
	}
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}
