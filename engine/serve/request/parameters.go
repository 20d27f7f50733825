package request

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Known are the parameters of a call.
type Known struct {
	// Once lists the parameters that may occur once, and Repeated those that may occur several
	// times.
	Once, Repeated []string
	// Ignored lists parameters that change nothing here. Clients send them for other servers.
	Ignored []string
}

// Parse parses the query of a URL and checks it.
func (k Known) Parse(raw string) (url.Values, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fmt.Errorf("the parameters in the URL cannot be read: %w", err)
	}
	return q, k.Check(q)
}

// Check returns an error if a parameter is not known, or occurs too often. The error for an
// unknown parameter names the known one that is most similar.
func (k Known) Check(q url.Values) error {
	for name, values := range q {
		switch {
		case slices.Contains(k.Repeated, name):
		case !slices.Contains(k.Once, name) && !slices.Contains(k.Ignored, name):
			return k.unknown(name)
		case len(values) > 1:
			return fmt.Errorf("parameter %s: it occurs %d times, and may occur once", name, len(values))
		}
	}
	return nil
}

func (k Known) unknown(name string) error {
	used := slices.Concat(k.Repeated, k.Once)
	if len(used) == 0 {
		return fmt.Errorf("parameter %.100q is unknown; this call takes no parameters", name)
	}
	return fmt.Errorf("parameter %.100q is unknown; did you mean %s? The known ones are %s",
		name, MostSimilar(name, used), strings.Join(used, ", "))
}

// Parameters parses the query of a URL. Each parameter must be one of the known ones and may
// occur once.
func Parameters(raw string, known ...string) (url.Values, error) {
	return Known{Once: known}.Parse(raw)
}

// maxCompared is the number of bytes of a name that are compared.
const maxCompared = 64

// MostSimilar returns the known name that takes the fewest changes of letters.
func MostSimilar(name string, known []string) string {
	name = strings.ToLower(name[:min(len(name), maxCompared)])
	return slices.MinFunc(known, func(a, b string) int {
		return changes(name, strings.ToLower(a)) - changes(name, strings.ToLower(b))
	})
}

// changes returns how many bytes must be inserted, removed or replaced to change a to b.
func changes(a, b string) int {
	row := make([]int, len(b)+1) // changes from the first bytes of a to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
