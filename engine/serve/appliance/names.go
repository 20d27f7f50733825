package appliance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"varve.dev/varve/engine/serve/request"
)

// Defaults of the parameter limit.
const (
	defaultLimit = 500
	noLimit      = -1
)

// maxBody bounds the list of names in the body of a request.
const maxBody = 16 << 20

// matchingPVs answers a sorted JSON list of the names that match a glob or a regular
// expression.
func (h *Handler) matchingPVs(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !q.Has("pv") && !q.Has("regex") {
		http.Error(w, "parameter pv or regex: a glob or a regular expression of names is required", http.StatusNotFound)
		return
	}
	h.answerNames(w, r, q, defaultLimit)
}

// allPVs answers a JSON list of all names, or of all matching names.
func (h *Handler) allPVs(w http.ResponseWriter, r *http.Request) {
	q, err := form(w, r)
	if err != nil {
		badRequest(w, err)
		return
	}
	h.answerNames(w, r, q, defaultLimit)
}

func (h *Handler) answerNames(w http.ResponseWriter, r *http.Request, q url.Values, limit int) {
	limit, err := request.Limit(q, limit)
	if err != nil {
		badRequest(w, err)
		return
	}
	match, err := matcher(q)
	if err != nil {
		badRequest(w, err)
		return
	}
	names, err := h.Reader.Names(r.Context(), match, limit)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if names == nil {
		names = []string{}
	}
	writeJSON(w, http.StatusOK, names)
}

// searchForPVsRegex answers the names that match a regular expression, one per line.
func (h *Handler) searchForPVsRegex(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("regex") == "" {
		http.Error(w, "parameter regex: a regular expression of names is required", http.StatusNotFound)
		return
	}
	match, err := request.Regexp(q.Get("regex"))
	if err != nil {
		badRequest(w, err)
		return
	}
	names, err := h.Reader.Names(r.Context(), match, noLimit)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	writeLines(w, names)
}

// matcher returns the matcher for the parameter pv, which is a list of globs, or for the
// parameter regex. If both are absent, the matcher matches all names.
func matcher(q url.Values) (request.Matcher, error) {
	switch {
	case q.Get("pv") != "":
		var globs []request.Matcher
		for _, p := range splitNames(q["pv"]) {
			globs = append(globs, request.Glob(p))
		}
		return func(pv string) bool {
			return slices.ContainsFunc(globs, func(m request.Matcher) bool { return m(pv) })
		}, nil
	case q.Get("regex") != "":
		return request.Regexp(q.Get("regex"))
	}
	return request.All, nil
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

// form returns the parameters of a request. It adds the names in the body of a POST to
// the parameter pv. The body is a form, a JSON list, or lines of text.
func form(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	q := r.URL.Query()
	if r.Method != http.MethodPost {
		return q, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("reading the body of the request: %w", err)
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // if it is unknown, the body is a form
	switch kind {
	case "application/json":
		var names []string
		if err := json.Unmarshal(body, &names); err != nil {
			return nil, errors.New("the body of the request is not a JSON list of names")
		}
		q["pv"] = append(q["pv"], names...)
	case "text/plain":
		q["pv"] = append(q["pv"], strings.Fields(string(body))...)
	default:
		posted, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, fmt.Errorf("the body of the request is not a form: %w", err)
		}
		maps.Copy(q, posted)
	}
	return q, nil
}
