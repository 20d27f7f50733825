package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// document is one YAML document of a file.
type document struct {
	line int // number of its first line, from 1
	// text starts with an empty line for each line of the file before the document, so that
	// the line numbers of the YAML parser equal the line numbers of the file.
	text []byte
	// root is the text as nodes, after the first call of place.
	root *yamlv3.Node
}

// split splits a file at lines that start with "---".
func split(content []byte) []*document {
	var docs []*document
	begin, line := 0, 1
	add := func(end, first int) {
		text := content[begin:end]
		if len(bytes.TrimSpace(text)) > 0 {
			docs = append(docs, &document{line: first, text: append(bytes.Repeat([]byte("\n"), first-1), text...)})
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
	list, invalid := Objects(file, content)
	for _, err := range invalid {
		errs = append(errs, err)
	}
	for _, o := range list {
		for _, err := range found.add(o.content) {
			errs = append(errs, o.wrap(err))
		}
	}
	slices.SortStableFunc(errs, func(a, b error) int { return cmp.Compare(lineOf(a), lineOf(b)) })
	return found, errs
}

// lineOf returns the line of an error, or 0.
func lineOf(err error) int {
	if at, ok := errors.AsType[*Error](err); ok {
		return at.Line
	}
	return 0
}

// decode returns the document's object, or nil if it has none.
func (d *document) decode() (map[string]any, error) {
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
