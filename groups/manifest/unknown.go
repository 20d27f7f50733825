package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// unknownFieldError names a field that the schema does not have.
type unknownFieldError struct {
	path   string
	advice string // says what would be right, or is empty
}

func (e unknownFieldError) Error() string { return fmt.Sprintf("unknown field %q", e.path) + e.advice }

// indexes are the indexes of a path: spec.channels[3].name.
var indexes = regexp.MustCompile(`\[[0-9]+\]`)

// unknownField returns the error about an unknown field. The error lists the fields that the schema has in the
// same place.
func (c *checker) unknownField(path string) unknownFieldError {
	e := unknownFieldError{path: path}
	steps := strings.Split(indexes.ReplaceAllString(path, ".[]"), ".")
	at, above := c.structural, strings.TrimSuffix(path, "."+steps[len(steps)-1])
	for _, step := range steps[:len(steps)-1] {
		if step == "[]" {
			at = at.Items
		} else if p, has := at.Properties[step]; has {
			at = &p
		} else {
			at = nil
		}
		if at == nil {
			return e
		}
	}
	e.advice = adviseFields(at, above)
	return e
}

// adviseFields lists the fields in a place of the schema. Lists have no fields.
func adviseFields(at *schema.Structural, path string) string {
	if at.Type == "array" {
		example := examples[lastStep(path)]
		if example == "" {
			return "; " + path + " is a list"
		}
		return "; " + path + " is a list: write it like " + example
	}
	if len(at.Properties) == 0 {
		return ""
	}
	return "; the fields of " + path + " are " + strings.Join(slices.Sorted(maps.Keys(at.Properties)), ", ")
}
