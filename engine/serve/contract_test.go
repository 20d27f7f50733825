package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/native"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/store"
)

// A request pair: the answers to both must differ, because of one parameter.
type pair struct{ without, with string }

const inRange = "&from=2025-12-31T23:59:50Z&to=2026-01-01T00:00:00Z"

// effects has, for each parameter of each call, two requests whose answers differ only because of it.
var effects = map[string]map[string]pair{
	"samples": {
		"pv": {"pv=A" + inRange, "pv=A&pv=B" + inRange}, "group": {"pv=A" + inRange, "group=lab/x" + inRange},
		"from": {"pv=A" + inRange, "pv=A&from=2025-12-31T23:59:55Z&to=2026-01-01T00:00:00Z"}, "to": {"pv=A" + inRange, "pv=A&from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:52Z"},
		"format": {"pv=A" + inRange, "format=csv&pv=A" + inRange}, "points": {"pv=A" + inRange, "points=2&pv=A&pv=E" + inRange},
		"align": {"pv=A" + inRange, "align=2s&pv=A&pv=S" + inRange}, "fill": {"align=2s&pv=A" + inRange, "align=2s&fill=mean&pv=A" + inRange},
		"where": {"pv=A" + inRange, "where=B%3E3&pv=A" + inRange},
	},
	"intervals": {
		"where": {"where=B%3E2" + inRange, "where=B%3E3" + inRange}, "format": {"where=B%3E2" + inRange, "format=csv&where=B%3E2" + inRange},
		"from": {"where=B%3E2" + inRange, "where=B%3E2&from=2025-12-31T23:59:57Z&to=2026-01-01T00:00:00Z"},
		"to":   {"where=B%3E2" + inRange, "where=B%3E2&from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:57Z"},
	},
	"snapshot": {
		"pv": {"pv=A", "pv=A&pv=NONE&pv=E&pv=W"}, "group": {"pv=A", "group=lab/x"}, "format": {"pv=A", "pv=A&format=csv"}, "at": {"pv=A", "pv=A&at=2025-12-31T23:59:55Z"},
	},
	"marks": {
		"pv": {"pv=A" + inRange, "pv=B" + inRange}, "from": {"pv=B" + inRange, "pv=B&from=2025-12-31T23:59:57Z&to=2026-01-01T00:00:00Z"},
		"to": {"pv=B" + inRange, "pv=B&from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:57Z"},
	},
	"metadata": {
		"pv": {"pv=A", "pv=A&pv=E"}, "group": {"pv=A", "group=lab/x"}, "at": {"pv=A", "pv=A&at=2025-12-31T23:59:58Z"},
		"from": {"pv=A&to=2026-01-01T00:00:00Z", "pv=A&from=2025-12-31T23:59:59.9Z&to=2026-01-01T00:00:00Z"},
		"to":   {"pv=A&from=2025-12-31T23:59:50Z", "pv=A&from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:51Z"},
	},
	"names": {"pv": {"", "pv=A*"}, "limit": {"", "limit=1"}, "after": {"", "after=A"}, "near": {"", "near=b"}},
	"channels": {
		"pv": {"", "pv=A"}, "state": {"", "state=connected"}, "group": {"", "group=lab/y"}, "limit": {"", "limit=1"}, "after": {"", "after=A"}, "sort": {"", "sort=stored"},
	},
}

// contract is an archive in which each parameter of /api/v1 has an effect.
func contract(t *testing.T) *rig {
	r := analysis(t)
	m := sample.Metadata{Units: "A", Properties: []sample.Property{{Name: "DESC", Value: "Beam current"}}}
	r.check(r.store.PutMetadata(t.Context(), store.PVMetadata{PV: "A", Time: newYear - second, Metadata: m}))
	r.channels = channels{
		{PV: "A", Group: "lab/x", State: capture.Connected, Since: newYear, Missing: []capture.MissingProperty{{Name: "EGU", Cause: "no such field"}}},
		{PV: "B", Group: "lab/x", State: capture.Disconnected, Stored: 7, Received: 9, Metadata: &m}, {PV: "C", Group: "lab/y", State: capture.Searching},
	}
	return r
}

// document loads the OpenAPI document that the server serves, and validates it.
func document(r *rig) *openapi3.T {
	r.t.Helper()
	code, text := r.get("/api/v1/openapi.json")
	if code != 200 || text != string(native.Document()) {
		r.t.Fatalf("the document is %d %.200s", code, text)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	r.check(err)
	r.check(doc.Validate(r.t.Context()))
	return doc
}

// checkAnswer checks that the document describes an answer.
func checkAnswer(r *rig, doc *openapi3.T, c *openapi.Call, query string) string {
	r.t.Helper()
	res, text, err := r.do("GET", strings.Replace(c.Path, "{pv...}", "A", 1)+"?"+query, "")
	r.check(err)
	answer := doc.Paths.Find(strings.Replace(c.Path, "...", "", 1)).Get.Responses.Status(res.StatusCode)
	if answer == nil {
		r.t.Errorf("%s?%s returns %d, which the document does not have: %s", c.Path, query, res.StatusCode, text)
		return text
	}
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	content := answer.Value.Content[media]
	if content == nil {
		r.t.Errorf("%s?%s returns %d in %q, which the document does not have", c.Path, query, res.StatusCode, media)
		return text
	}
	if media != "application/json" {
		return text
	}
	var v any
	r.check(json.Unmarshal([]byte(text), &v))
	if err := doc.ValidateSchemaJSON(content.Schema.Value, v, openapi3.EnableJSONSchema2020()); err != nil {
		r.t.Errorf("%s?%s does not fit its schema: %v\n%s", c.Path, query, err, text)
	}
	return text
}

// TestParametersHaveEffects checks that each parameter that the document declares changes an answer,
// and that the answers are as the document describes them.
func TestParametersHaveEffects(t *testing.T) {
	r := contract(t)
	doc := document(r)
	for _, c := range native.Calls() {
		for _, p := range c.Parameters {
			if p.InPath {
				continue
			}
			pair, tested := effects[c.ID][p.Name]
			if !tested {
				t.Errorf("no test shows what the parameter %s of %s does", p.Name, c.Path)
				continue
			}
			without, with := checkAnswer(r, doc, &c, pair.without), checkAnswer(r, doc, &c, pair.with)
			if without == with || strings.Contains(without, `"error"`) || strings.Contains(with, `"error"`) {
				t.Errorf("%s: %s and %s return\n%s\n%s", c.Path, pair.without, pair.with, without, with)
			}
		}
		if len(c.Parameters) == 0 && c.ID != "shards" || c.ID == "channel" {
			checkAnswer(r, doc, &c, "")
		}
	}
	checkAnswer(r, doc, &openapi.Call{Path: "/api/v1/samples"}, "pv=A&align=1s&format=arrow")
	checkAnswer(r, doc, &openapi.Call{Path: "/api/v1/samples"}, "pv=A&format=parquet")
	checkAnswer(r, doc, &openapi.Call{Path: "/api/v1/samples"}, "pv=NONE")
	checkAnswer(r, doc, &openapi.Call{Path: "/api/v1/samples"}, "pv=A&align=1ms&from=-7d")
	r.channels = nil
	checkAnswer(r, doc, &openapi.Call{Path: "/api/v1/channels/{pv...}"}, "")
}

// TestOtherParametersAreRefused checks that each call refuses all parameters that it does not declare,
// values outside of the declared limits, and repeated parameters.
func TestOtherParametersAreRefused(t *testing.T) {
	r := contract(t)
	doc := document(r)
	all := map[string]bool{"bogus": true, "FROM": true}
	for _, c := range native.Calls() {
		for _, p := range c.Parameters {
			all[p.Name] = true
		}
	}
	for _, c := range native.Calls() {
		if c.ID == "shards" {
			continue
		}
		refuse := func(query, says string) {
			t.Helper()
			if got := checkAnswer(r, doc, &c, query); !strings.Contains(got, `"error":"parameter `) || !strings.Contains(got, says) {
				t.Errorf("%s?%s returns %.200s, want an error about %s", c.Path, query, got, says)
			}
		}
		declared := map[string]bool{}
		for _, p := range c.Parameters {
			if p.InPath {
				continue
			}
			declared[p.Name] = true
			switch p.Kind {
			case openapi.Integer:
				refuse(fmt.Sprintf("%s=%d", p.Name, p.Max+1), p.Name)
				refuse(fmt.Sprintf("%s=%d", p.Name, p.Min-1), p.Name)
				refuse(p.Name+"=1.5", "whole number")
			case openapi.Choice:
				refuse(p.Name+"=bogus", p.Choices[0])
			case openapi.Time:
				refuse(p.Name+"=bogus", p.Name)
			}
			if p.Repeated > 0 {
				refuse(url.Values{p.Name: slices.Repeat([]string{"A"}, p.Repeated+1)}.Encode(), fmt.Sprint(p.Repeated))
			} else {
				refuse(p.Name+"=1&"+p.Name+"=1", "occurs 2 times")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !declared[name] {
				refuse(name+"=1", `\"`+name+`\" is unknown`)
			}
		}
	}
}

// TestDocumentIsUpToDate checks the copy of the document in docs.
func TestDocumentIsUpToDate(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/openapi.json")
	if err != nil || string(text) != string(native.Document()) {
		t.Errorf("docs/reference/openapi.json differs from the document; run make generate: %v", err)
	}
}
