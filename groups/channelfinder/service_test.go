package channelfinder

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// service is a fake ChannelFinder service 4.x. It supports the parameters ~name, ~tag, ~size
// and ~from, and scrolling by the last name of a page. It returns at most 10,000 channels at
// once.
type service struct {
	*httptest.Server

	noScroll bool // as before 4.0
	mu       sync.Mutex
	channels []channel // sorted by name
	requests []string
}

type channel struct {
	Name       string     `json:"name"`
	Owner      string     `json:"owner"`
	Properties []property `json:"properties"`
	Tags       []tag      `json:"tags"`
}

type property struct {
	Name, Owner, Value string
}

type tag struct {
	Name string `json:"name"`
}

const (
	defaultSize = 10_000
	window      = 10_000
)

func serve(t *testing.T, channels ...channel) *service {
	t.Helper()
	slices.SortFunc(channels, func(a, b channel) int { return strings.Compare(a.Name, b.Name) })
	s := &service{channels: channels}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ChannelFinder/resources/channels", func(w http.ResponseWriter, r *http.Request) {
		found, total := s.find(r, "")
		if total > window {
			fail(w, http.StatusBadRequest, "Search failed for: {~size=["+r.FormValue("~size")+"]}, CAUSE: Max search window exceeded, use the ChannelFinder/resources/scroll api.")
			return
		}
		answer(w, found)
	})
	mux.HandleFunc("GET /ChannelFinder/resources/scroll/{id}", func(w http.ResponseWriter, r *http.Request) {
		if s.noScroll {
			fail(w, http.StatusNotFound, "")
			return
		}
		found, _ := s.find(r, r.PathValue("id"))
		page := map[string]any{"id": nil, "channels": found}
		if len(found) > 0 {
			page["id"] = found[len(found)-1].Name
		}
		answer(w, page)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *service) url() string { return s.URL + "/ChannelFinder" }

// find returns the channels of a request, and the index of the last one.
func (s *service) find(r *http.Request, after string) (found []channel, reach int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.URL.Path)
	q := r.URL.Query()
	from, size := number(q.Get("~from"), 0), number(q.Get("~size"), defaultSize)
	found = []channel{}
	for _, c := range s.channels {
		if c.Name <= after || !match(q["~name"], []string{c.Name}) || !match(q["~tag"], tagNames(c)) {
			continue
		}
		if from > 0 {
			from--
			continue
		}
		if len(found) < size {
			found = append(found, c)
		}
	}
	return found, number(q.Get("~from"), 0) + size
}

func tagNames(c channel) (names []string) {
	for _, t := range c.Tags {
		names = append(names, t.Name)
	}
	return names
}

// match reports whether each parameter has a pattern that matches one of the names.
func match(parameters, names []string) bool {
	for _, patterns := range parameters {
		one := slices.ContainsFunc(strings.FieldsFunc(patterns, func(r rune) bool { return strings.ContainsRune("|,;", r) }),
			func(pattern string) bool {
				return slices.ContainsFunc(names, func(name string) bool {
					ok, err := path.Match(pattern, name)
					return ok && err == nil
				})
			})
		if !one {
			return false
		}
	}
	return true
}

func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return otherwise
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// fail sends an error in the format of Spring, including the time.
func fail(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"timestamp":"2026-11-21T14:00:00.123+00:00","status":%d,"error":%q,"message":%q,"path":"/ChannelFinder"}`,
		code, http.StatusText(code), message)
}

func tagged(tagName string, names ...string) (out []channel) {
	for _, name := range names {
		c := channel{Name: name, Owner: "recceiver", Properties: []property{{"hostName", "recceiver", "ioc01"}}}
		if tagName != "" {
			c.Tags = []tag{{Name: tagName}}
		}
		out = append(out, c)
	}
	return out
}
