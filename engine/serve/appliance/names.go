package appliance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/field"
	"varve.dev/varve/engine/serve/request"
)

// Defaults of the parameter limit.
const (
	defaultLimit = 500
	noLimit      = -1
)

// matchingPVs answers a sorted list of the names that match a glob or a regular expression.
func (h *Handler) matchingPVs(a args) (any, error) {
	if !a.Has("pv") && !a.Has("regex") {
		return nil, badQuery{errors.New("parameter pv or regex: a glob or a regular expression of names is required")}
	}
	return h.allPVs(a)
}

// allPVs answers a list of all names, or of all matching names, with aliases.
func (h *Handler) allPVs(a args) (any, error) { return h.matching(a, defaultLimit) }

// expandedNames answers the same without a default limit. The archive archives no field of a record under the name of its PV.
func (h *Handler) expandedNames(a args) (any, error) { return h.matching(a, noLimit) }

// allAliases answers the aliases with their PVs, by alias.
func (h *Handler) allAliases(a args) (any, error) {
	type alias struct {
		AliasName string `json:"aliasName"`
		SrcPVName string `json:"srcPVName"`
	}
	all := []alias{}
	for name, err := range h.Reader.Aliases(a.r.Context()) {
		if err != nil {
			return nil, err
		}
		all = append(all, alias{name.Alias, name.PV})
	}
	slices.SortFunc(all, func(a, b alias) int { return strings.Compare(a.AliasName, b.AliasName) })
	return all, nil
}

func (h *Handler) matching(a args, limit int) (any, error) {
	limit, p, err := selection(a, limit)
	if err != nil {
		return nil, err
	}
	return pvList(h.Reader.Search(a.r.Context(), p, limit)), nil
}

// searchForPVsRegex answers the names that match a regular expression, one per line.
func (h *Handler) searchForPVsRegex(a args) (any, error) {
	if a.Get("regex") == "" {
		return nil, badQuery{errors.New("parameter regex: a regular expression of names is required")}
	}
	p, err := request.RegexpPattern(a.Get("regex"))
	if err != nil {
		return nil, badQuery{err}
	}
	return lines(h.Reader.Search(a.r.Context(), p, noLimit)), nil
}

// selection returns what the parameters limit, pv and regex select.
func selection(a args, limit int) (int, nameindex.Pattern, error) {
	limit, err := request.Limit(a.Values, limit)
	if err != nil {
		return 0, nameindex.Pattern{}, badQuery{err}
	}
	p, err := patternOf(a.Values)
	if err != nil {
		return 0, nameindex.Pattern{}, badQuery{err}
	}
	return limit, p, nil
}

// patternOf returns the pattern of the parameter pv, which is a list of globs, or of the
// parameter regex. If both are absent, the pattern selects all names.
func patternOf(q url.Values) (nameindex.Pattern, error) {
	switch {
	case q.Get("pv") != "" && q.Get("regex") != "":
		return nameindex.Pattern{}, errors.New("parameters pv and regex: a request may have one of them")
	case q.Get("pv") != "":
		return request.GlobsPattern(splitNames(q["pv"])...)
	case q.Get("regex") != "":
		return request.RegexpPattern(q.Get("regex"))
	}
	return nameindex.Pattern{}, nil
}

// splitNames splits lists of names at commas. A comma between braces belongs to a name,
// such as one with a JSON field modifier. A comma between parentheses belongs to a
// post-processor.
func splitNames(lists []string) []string {
	var names []string
	for _, list := range lists {
		depth := 0
		names = append(names, strings.FieldsFunc(list, func(c rune) bool {
			switch c {
			case '{', '(':
				depth++
			case '}', ')':
				depth--
			}
			return c == ',' && depth <= 0
		})...)
	}
	return names
}

// capturedNames answers the names of all PVs that are in a group.
func (h *Handler) capturedNames(a args) (any, error) {
	return h.namesOf(a, func(*capture.Status) bool { return true })
}

// pausedNames answers the names of the PVs whose group is paused.
func (h *Handler) pausedNames(a args) (any, error) { return h.namesOf(a, isPaused) }

func isPaused(s *capture.Status) bool { return s.State == capture.Paused }

func (h *Handler) namesOf(a args, has func(s *capture.Status) bool) (any, error) {
	limit, p, err := selection(a, noLimit)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for s, err := range h.Channels.Statuses(a.r.Context()) {
		if err != nil {
			return nil, incomplete(a.r.Context(), err)
		}
		if len(names) == limit {
			break
		}
		if p.Matches(s.PV) && has(&s) {
			names = append(names, s.PV)
		}
	}
	return names, nil
}

// areWeArchivingPV answers whether a PV is in a group.
func (h *Handler) areWeArchivingPV(a args) (any, error) {
	name, err := a.pv()
	if err != nil {
		return nil, err
	}
	n, err := h.stateOfName(a.r.Context(), name)
	return map[string]string{"status": strconv.FormatBool(n.captured)}, err
}

// archivedPVs answers those of the given names that are in a group.
func (h *Handler) archivedPVs(a args) (any, error) { return h.given(a, true) }

// unarchivedPVs answers those of the given names that are in no group.
func (h *Handler) unarchivedPVs(a args) (any, error) { return h.given(a, false) }

// given answers those of the given names that are, or are not, in a group. It returns each name
// once, as the request has it.
func (h *Handler) given(a args, captured bool) (any, error) {
	given := splitNames(a.Values["pv"])
	if len(given) == 0 {
		return nil, badQuery{errors.New("parameter pv: a list of names is required, in the URL or in the body")}
	}
	in, err := h.captured(a.r.Context(), given)
	if err != nil {
		return nil, err
	}
	seen, names := map[string]bool{}, []string{}
	for _, name := range given {
		if !seen[name] && in[pvname.Canonical(name)] == captured {
			names = append(names, name)
		}
		seen[name] = true
	}
	return names, nil
}

// archivedPVsNotInList answers the names of all captured PVs that the request does not have.
func (h *Handler) archivedPVsNotInList(a args) (any, error) {
	given := splitNames(a.Values["pv"])
	if len(given) == 0 {
		return nil, badQuery{errors.New("parameter pv: a list of names is required, in the URL or in the body")}
	}
	in := make(map[string]bool, len(given))
	for _, name := range given {
		in[pvname.Canonical(name)] = true
	}
	aliases, err := h.givenAliases(a.r.Context(), in)
	if err != nil {
		return nil, err
	}
	for pv := range aliases {
		in[pv] = true
	}
	return h.namesOf(args{r: a.r}, func(s *capture.Status) bool { return !in[s.PV] })
}

// fewNames is up to how many names are looked up one by one. For more names, it is cheaper to read
// the states of all PVs.
const fewNames = 64

// captured returns which of the given names are in a group, in canonical form.
func (h *Handler) captured(ctx context.Context, names []string) (map[string]bool, error) {
	in := make(map[string]bool, len(names))
	if len(names) <= fewNames {
		for _, name := range names {
			n, err := h.stateOfName(ctx, name)
			if err != nil {
				return nil, err
			}
			in[pvname.Canonical(name)] = n.captured
		}
		return in, nil
	}
	for _, name := range names {
		in[pvname.Canonical(name)] = false
	}
	aliases, err := h.givenAliases(ctx, in)
	if err != nil {
		return nil, err
	}
	for s, err := range h.Channels.Statuses(ctx) {
		if err != nil {
			return nil, incomplete(ctx, err)
		}
		if _, given := in[s.PV]; given {
			in[s.PV] = true
		}
		for _, alias := range aliases[s.PV] {
			in[alias] = true
		}
	}
	return in, h.addFields(ctx, in)
}

// givenAliases returns the given names that are aliases, by PV.
func (h *Handler) givenAliases(ctx context.Context, given map[string]bool) (map[string][]string, error) {
	aliases := map[string][]string{}
	for a, err := range h.Reader.Aliases(ctx) {
		if err != nil {
			return nil, err
		}
		if _, is := given[a.Alias]; is {
			aliases[a.PV] = append(aliases[a.PV], a.Alias)
		}
	}
	return aliases, nil
}

// addFields marks the names that are not captured themselves, but are fields of captured PVs.
func (h *Handler) addFields(ctx context.Context, in map[string]bool) error {
	var rest []string
	for name, captured := range in {
		if !captured {
			rest = append(rest, name)
		}
	}
	return query.InOrder(ctx, rest, func(ctx context.Context, name string) (captured bool, err error) {
		pv, is, err := field.PV(ctx, h.Reader, name)
		if is && err == nil {
			_, captured, err = h.Channels.Status(ctx, pv)
		}
		return captured, err
	}, func(name string, captured bool) error {
		in[name] = captured
		return nil
	})
}

// addBody adds the names in the body of a POST to the parameter pv. The body is a form, a JSON list,
// or lines of text.
func addBody(r *http.Request, q url.Values) error {
	if r.Method != http.MethodPost {
		return nil
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	switch mediaType(r) {
	case "application/json":
		names, err := jsonNames(body)
		if err != nil {
			return err
		}
		q["pv"] = append(q["pv"], names...)
	case "text/plain":
		q["pv"] = append(q["pv"], strings.Fields(string(body))...)
	default:
		posted, err := url.ParseQuery(string(body))
		if err != nil {
			return fmt.Errorf("the body of the request is not a form: %w", err)
		}
		maps.Copy(q, posted)
	}
	return nil
}

func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the body of the request: %w", err)
	}
	return body, nil
}

// mediaType returns the type of the body of a request. If it is unknown, the body is a form.
func mediaType(r *http.Request) string {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind
}

// isJSON reports whether a request has JSON in its body.
func isJSON(r *http.Request) bool {
	return r.Method == http.MethodPost && mediaType(r) == "application/json"
}

// jsonNames decodes a list of names. As in the Appliance, an element may be an object with the
// member pv.
func jsonNames(body []byte) ([]string, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(body, &elements); err != nil {
		return nil, errors.New("the body of the request is not a JSON list of names")
	}
	names := make([]string, len(elements))
	for i, e := range elements {
		object := struct{ PV *string }{&names[i]}
		if json.Unmarshal(e, &names[i]) != nil && json.Unmarshal(e, &object) != nil {
			return nil, fmt.Errorf("element %d of the JSON list in the body is not a name", i+1)
		}
	}
	return names, nil
}
