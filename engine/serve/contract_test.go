package serve

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/openapi/openapitest"
	"varve.dev/varve/engine/store"
)

const inRange = "&from=2025-12-31T23:59:50Z&to=2026-01-01T00:00:00Z"

// effects has, for each parameter of each call, two requests whose answers differ only because of it.
var effects = map[string]map[string]openapitest.Pair{
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
	"why":     {"at": {"", "at=2025-12-31T23:59:55Z"}},
	"names":   {"pv": {"", "pv=A*"}, "ignoreCase": {"pv=a*", "pv=a*&ignoreCase=true"}, "limit": {"", "limit=1"}, "after": {"", "after=A"}, "near": {"", "near=b"}, "description": {"", "description=current"}},
	"storage": {"pv": {"pv=A", "pv=B"}}, "forecast": {"days": {"", "days=730"}},
	"channels": {
		"pv": {"", "pv=A"}, "state": {"", "state=connected"}, "group": {"", "group=lab/y"}, "limit": {"", "limit=1"}, "after": {"", "after=A"}, "sort": {"", "sort=stored"},
	},
	"pvs": {
		"pv": {"", "pv=A"}, "ignoreCase": {"pv=a", "pv=a&ignoreCase=true"}, "state": {"", "state=connected"}, "group": {"", "group=lab/y"}, "engine": {"", "engine=main-engine-0"}, "cause": {"", "cause=asleep"}, "only": {"", "only=dropped"},
		"limit": {"", "limit=1"}, "offset": {"", "offset=1"}, "after": {"", "after=A"}, "sort": {"", "sort=stored"}, "order": {"", "order=reversed"},
	},
	"files": {
		"pv": {"pv=A", "pv=E"}, "from": {"pv=A", "pv=A&from=2026-01-01T00:00:00Z"}, "to": {"pv=D", "pv=D&to=2025-12-30T23:59:59Z"}, "limit": {"pv=D", "pv=D&limit=1"},
	},
	"bins": {
		"pv": {"pv=A" + inRange, "pv=A&pv=B" + inRange}, "points": {"pv=A" + inRange, "points=2&pv=A" + inRange}, "samples": {"pv=A" + inRange, "samples=100&pv=A" + inRange},
		"from": {"pv=A" + inRange, "pv=A&from=2025-12-31T23:59:55Z&to=2026-01-01T00:00:00Z"}, "to": {"pv=A" + inRange, "pv=A&from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:52Z"},
		"format": {"pv=A" + inRange, "format=binary&pv=A" + inRange},
	},
	"arrays": {
		"pv": {"pv=W" + inRange, "pv=A" + inRange}, "points": {"pv=W" + inRange, "points=1&pv=W" + inRange}, "cells": {"pv=W" + inRange, "cells=1&pv=W" + inRange},
		"from": {"pv=W" + inRange, "pv=W&from=2025-12-31T23:59:59Z&to=2026-01-01T00:00:00Z"}, "to": {"pv=W" + inRange, "pv=W&from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:51Z"},
		"format": {"pv=W" + inRange, "format=binary&pv=W" + inRange},
	},
	"gaps": {
		"pv": {"pv=A" + inRange, "pv=B" + inRange}, "limit": {"pv=B" + inRange, "limit=1&pv=B" + inRange}, "from": {"pv=B" + inRange, "pv=B&from=2025-12-31T23:59:57Z&to=2026-01-01T00:00:00Z"},
		"to": {"pv=B" + inRange, "pv=B&from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:57Z"},
	},
	"statistics": {
		"pv": {"pv=A" + inRange, "pv=B" + inRange}, "from": {"pv=A" + inRange, "pv=A&from=2025-12-31T23:59:55Z&to=2026-01-01T00:00:00Z"},
		"to": {"pv=A" + inRange, "pv=A&from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:52Z"},
	},
	"changes": {
		"pv": {"pv=A" + inRange, "pv=*" + inRange}, "group": {"pv=*" + inRange, "group=lab/x" + inRange}, "limit": {inRange[1:], "limit=1" + inRange},
		"from": {inRange[1:], "from=2025-12-31T23:59:57Z&to=2026-01-01T00:00:00Z"}, "to": {inRange[1:], "from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:57Z"},
	},
	"losses": {
		"group": {"", "group=lab/x"}, "from": {inRange[1:], "from=2025-12-31T23:59:58Z&to=2026-01-01T00:00:00Z"}, "to": {inRange[1:], "from=2025-12-31T23:59:50Z&to=2025-12-31T23:59:52Z"},
	},
	"live": {"pv": {"pv=A&cursor=1767225594000000000:1", "pv=B&cursor=1767225594000000000:1"}, "cursor": {"pv=A", "pv=A&cursor=1767225594000000000:1"}},
}

// contract is an archive in which each parameter of /api/v1 has an effect.
func contract(t *testing.T) *rig {
	r := analysis(t)
	m := sample.Metadata{Units: "A", Properties: []sample.Property{{Name: "DESC", Value: "Beam current"}}}
	r.check(r.store.PutMetadata(t.Context(), store.PVMetadata{PV: "A", Time: newYear - second, Metadata: m}))
	r.put("D", ramp(newYear-24*3600*second-second, 2), 1) // on two days
	r.check(r.store.PutMarks(t.Context(), store.PVMark{PV: "B", Mark: sample.Mark{Time: newYear - second, Kind: sample.Disconnected}}))
	r.check(r.store.PutMarks(t.Context(), store.PVMark{PV: "D", Mark: sample.Mark{Time: newYear - 5*second, Kind: sample.Lost, Reason: sample.Overrun, Count: 3}}))
	r.channels = channels{
		{PV: "A", Group: "lab/x", State: capture.Connected, Since: newYear, Missing: []capture.MissingProperty{{Name: "EGU", Cause: "no such field"}}},
		{PV: "B", Group: "lab/x", State: capture.Disconnected, Stored: 7, Received: 9, Dropped: [sample.NumReasons]uint64{sample.Overrun: 1}, Metadata: &m}, {PV: "C", Group: "lab/y", State: capture.Searching, Cause: "the IOC is asleep"},
	}
	return r
}

// described returns the contract of a server, and all of its calls.
func described(r *rig) (*openapitest.Contract, []openapi.Call) {
	r.t.Helper()
	c := &openapitest.Contract{T: r.t, Get: r.beginning, Paths: map[string]string{"channel": "A", "why": "A", "file": "A/2025-12-31.parquet", "group": "lab/x"}}
	code, text := r.get("/api/v1/openapi.json")
	if code != 200 || text != string(Document()) {
		r.t.Fatalf("the document is %d %.200s", code, text)
	}
	c.Load(text)
	var calls []openapi.Call
	for _, s := range Sections() {
		calls = append(calls, s.Calls...)
	}
	return c, slices.DeleteFunc(calls, func(c openapi.Call) bool { return c.Method != "" }) // they have no parameters
}

// beginning requests a path. It returns the answer; of a stream of events, it returns those up to the
// first one that says what time it is.
func (r *rig) beginning(path string) (code int, contentType, body string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	r.check(err)
	res, err := http.DefaultClient.Do(req)
	r.check(err)
	defer res.Body.Close()
	if contentType = res.Header.Get("Content-Type"); contentType != "text/event-stream" {
		b, err := io.ReadAll(res.Body)
		r.check(err)
		return res.StatusCode, contentType, string(b)
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if lines.Text() == "event: now" {
			return res.StatusCode, contentType, body
		}
		body += lines.Text() + "\n"
	}
	r.t.Fatalf("%s ends before its first read: %s", path, body)
	return 0, "", ""
}

// TestParametersHaveEffects checks that each parameter that the document declares changes an answer,
// and that the answers are as the document describes them.
func TestParametersHaveEffects(t *testing.T) {
	r := contract(t)
	c, calls := described(r)
	c.Effects(calls, effects)
	samples, channel, file := call(calls, "samples"), call(calls, "channel"), call(calls, "file")
	c.Answer(samples, "pv=A&align=1s&format=arrow")
	c.Answer(samples, "pv=A&format=parquet")
	c.Answer(samples, "pv=NONE")
	c.Answer(samples, "pv=A&align=1ms&from=-7d")
	c.Answer(call(calls, "bins"), "pv=E&pv=S&pv=W&pv=A&samples=1"+inRange)
	r.channels = nil
	c.Answer(channel, "")
	for _, path := range []string{"A/2020-01-01.parquet", "A/yesterday.parquet", "NONE/2025-12-31.parquet", "A"} {
		c.Paths["file"] = path
		c.Answer(file, "")
	}
}

// call returns the call with an ID.
func call(calls []openapi.Call, id string) *openapi.Call {
	return &calls[slices.IndexFunc(calls, func(c openapi.Call) bool { return c.ID == id })]
}

// TestOtherParametersAreRefused checks that each call refuses all parameters that it does not declare,
// values outside of the declared limits, and repeated parameters.
func TestOtherParametersAreRefused(t *testing.T) {
	c, calls := described(contract(t))
	c.Refusals(calls, "bogus", "FROM")
}

// TestEachPathIsDescribed checks that the calls of /api/v1 in the list of paths are in the document.
func TestEachPathIsDescribed(t *testing.T) {
	r := contract(t)
	_, calls := described(r)
	_, text := r.get("/api/")
	for _, found := range regexp.MustCompile(`>(?:[^<>]* and )?(/api/v1/[a-z.]+)`).FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(calls, func(c openapi.Call) bool { return c.Path == found[1] || strings.HasPrefix(c.Path, found[1]+"/{") }) {
			t.Errorf("the document lacks %s", found[1])
		}
	}
}
