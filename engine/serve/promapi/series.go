package promapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

const (
	// nameLabel is the label with the name of a PV. PVs have no other labels.
	nameLabel = "__name__"
	// maxNames is the maximum number of names in an answer, and maxDescribed that of metadata.
	maxNames     = 10_000
	maxDescribed = 1000
	// maxSelectors is the maximum number of selectors in a request.
	maxSelectors = 100
	// followed is the version of Prometheus whose API is followed. Grafana chooses its requests by it.
	followed = "2.54.0"
)

// limitOf returns the parameter limit, or most if it is absent or 0.
func limitOf(q url.Values, name string, most int) (int, error) {
	text := q.Get(name)
	n, err := strconv.Atoi(cmp.Or(text, "0"))
	if err != nil || n < 0 {
		return 0, badData{fmt.Errorf("parameter %s: %.50q is not a whole number", name, text)}
	}
	if n == 0 {
		n = most
	}
	return min(n, most), nil
}

// selectors parses the parameters match[].
func selectors(q url.Values) (all []*selector, err error) {
	if n := len(q["match[]"]); n > maxSelectors {
		return nil, badData{fmt.Errorf("parameter match[]: the request has %d of them, and may have %d", n, maxSelectors)}
	}
	for _, text := range q["match[]"] {
		s, err := parseSelector(text)
		if err != nil {
			return nil, badData{err}
		}
		all = append(all, s)
	}
	return all, nil
}

// names returns the names of the PVs that one of the selectors selects, and a warning if there are more
// than the limit. Without selectors it returns those of all PVs.
func (h *Handler) names(ctx context.Context, q url.Values) (names, warnings []string, err error) {
	limit, err := limitOf(q, "limit", maxNames)
	if err != nil {
		return nil, nil, err
	}
	list, err := selectors(q)
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 1 {
		names, _, err = h.find(ctx, list[0], limit)
		return cutNames(names, limit, err)
	}
	names, err = h.Reader.Names(ctx, func(pv string) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(s *selector) bool { return s.matches(pv) })
	}, limit+1)
	return cutNames(names, limit, err)
}

// cutNames returns the first names, and a warning if there are more.
func cutNames(names []string, limit int, err error) ([]string, []string, error) {
	if len(names) > limit {
		return names[:limit], []string{fmt.Sprintf("results truncated: there are more than %d PVs", limit)}, err
	}
	return names, nil, err
}

// labels answers the names of the labels.
func (h *Handler) labels(w http.ResponseWriter, _ *http.Request, q url.Values) error {
	_, err := limitOf(q, "limit", maxNames)
	if err == nil {
		_, err = selectors(q)
	}
	if err == nil {
		writeData(w, []string{nameLabel})
	}
	return err
}

// values answers the values of a label.
func (h *Handler) values(w http.ResponseWriter, r *http.Request, q url.Values) error {
	names, warnings, err := h.names(r.Context(), q)
	if err != nil {
		return err
	}
	if r.PathValue("label") != nameLabel || names == nil {
		names, warnings = []string{}, nil
	}
	writeData(w, names, warnings...)
	return nil
}

// series answers the PVs that selectors select.
func (h *Handler) series(w http.ResponseWriter, r *http.Request, q url.Values) error {
	if len(q["match[]"]) == 0 {
		return badData{errors.New(`parameter match[]: a selector is required, such as {__name__=~"SR.*"}`)}
	}
	names, warnings, err := h.names(r.Context(), q)
	if err != nil {
		return err
	}
	all := make([]map[string]string, len(names))
	for i, pv := range names {
		all[i] = map[string]string{nameLabel: pv}
	}
	writeData(w, all, warnings...)
	return nil
}

// description is the metadata of a metric.
type description struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// metadata answers the units and descriptions of PVs.
func (h *Handler) metadata(w http.ResponseWriter, r *http.Request, q url.Values) error {
	limit, err := limitOf(q, "limit", maxDescribed)
	if err == nil {
		_, err = limitOf(q, "limit_per_metric", 1)
	}
	if err != nil {
		return err
	}
	s := &selector{}
	if metric := q.Get("metric"); metric != "" {
		if err := s.add("=", metric); err != nil {
			return badData{err}
		}
	}
	names, _, err := h.find(r.Context(), s, limit)
	if err != nil {
		return err
	}
	var warnings []string
	if len(names) > limit {
		names, warnings = names[:limit], []string{fmt.Sprintf("results truncated: there are more than %d PVs", limit)}
	}
	all, now := map[string][]description{}, h.Now().UnixNano()
	err = query.InOrder(r.Context(), names, func(ctx context.Context, pv string) (sample.Metadata, error) {
		m, _, err := h.Reader.Metadata(ctx, pv, now)
		return m, err
	}, func(pv string, m sample.Metadata) error {
		d := description{Type: "gauge", Unit: m.Units}
		for _, p := range m.Properties {
			if p.Name == "DESC" {
				d.Help = p.Value
			}
		}
		all[pv] = []description{d}
		return nil
	})
	if err == nil {
		writeData(w, all, warnings...)
	}
	return err
}

// buildInfo answers the version of Prometheus whose API is followed, and that of this program.
func (h *Handler) buildInfo(w http.ResponseWriter, _ *http.Request, _ url.Values) error {
	writeData(w, map[string]string{
		"version": followed, "revision": "Varve " + h.Version, "branch": "", "buildUser": "", "buildDate": "", "goVersion": runtime.Version(),
	})
	return nil
}
