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
	line int // of its first line, from 1
	// text has an empty line for each line of the file before the document, so
	// that line numbers of the YAML parser are the file's.
	text []byte
}

// split cuts a file at lines that begin with "---".
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

// parse returns the objects of a file and its errors.
func parse(file string, content []byte) (found objects, errs []error) {
	for _, doc := range split(content) {
		obj, err := doc.decode()
		if err != nil {
			line := doc.line
			if p, ok := errors.AsType[placed](err); ok {
				line = p.line
			}
			errs = append(errs, &Error{File: file, Line: line, Err: err})
			continue
		}
		if obj == nil { // comments only
			continue
		}
		wrong := found.add(obj)
		name := nameOf(obj)
		for _, err := range wrong {
			errs = append(errs, &Error{File: file, Line: doc.lineOf(fieldOf(err)), Group: name, Err: err})
		}
	}
	return found, errs
}

// decode returns the document's object, nil if it has none.
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
			return nil, fmt.Errorf("the document is not an object but of type %s", wrongType.Value)
		}
		return nil, fmt.Errorf("decoding: %w", err)
	}
	return obj, nil
}

// placed is what the YAML library says, with the line taken out of it.
type placed struct {
	line int
	text string
}

func (p placed) Error() string { return p.text }

var yamlLine = regexp.MustCompile(`line (\d+): `)

func yamlError(err error) error {
	var noNumber *json.UnsupportedValueError
	if errors.As(err, &noNumber) {
		return fmt.Errorf("a number is %s: only finite numbers can be given", noNumber.Str)
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
	return placed{line: line, text: text[:at[0]] + text[at[1]:]}
}

// nameOf returns the name of a group that may be wrong in any way.
func nameOf(obj map[string]any) string {
	if obj["kind"] != v1alpha1.KindArchiveGroup {
		return ""
	}
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}
