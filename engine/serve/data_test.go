package serve

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestGetData checks that an answer begins with the last sample at or before from. The answer
// for an unknown PV is 404, and the answer for a known PV without data is an empty list.
func TestGetData(t *testing.T) {
	r := newRig(t)
	r.put("SR:PRES", ramp(newYear, 11), 1) // to 00:00:10
	r.put("SR:PRES", ramp(newYear+13*second, 5), 2)
	r.addChannel("SR:NEW", sample.Unknown, 0)
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"getData.csv?pv=SR:PRES&from=2026-01-01T00:00:08.5Z&to=2026-01-01T00:00:10Z", 200, "1767225608,8.0,0,0,0\n1767225609,9.0,0,0,0\n1767225610,10.0,0,0,0\n"},
		{"getData.csv?pv=SR:PRES&from=2026-01-01T00:00:11Z&to=2026-01-01T00:00:11Z", 200, "1767225610,10.0,0,0,0\n"},
		{"getData.csv?pv=SR:PRES&from=2026-01-01T00:00:09Z&to=2026-01-01T00:00:09Z", 200, "1767225609,9.0,0,0,0\n"},
		{"getData.csv?pv=ca://SR:PRES.VAL&from=2026-01-01T01:00:09%2B01:00&to=2025-12-31T17:00:09-07:00", 200, "1767225609,9.0,0,0,0\n"},
		{"getData.csv?pv=SR:PRES&from=2025-01-01T00:00:00Z&to=2025-01-02T00:00:00Z", 200, ""},
		{"getData.json?pv=SR:NEW", 200, "[]\n"},
		{"getData.json?pv=SR:NONE", 404, "reading SR:NONE: unknown PV\n"},
		{"getData.json?pv=SR:PRES&pv=SR:NONE", 404, "reading SR:NONE: unknown PV\n"},
		{"getData.json?pv=SR:PRES&from=x", 400, "parameter from: \"x\" is not a time; write it like 2026-03-01T08:00:00Z, 2026-03-01T08:00:00+01:00 or -15m\n"},
		{"getData.flx?pv=SR:PRES", 501, "getData.flx is not supported: it was for Adobe Flex; use one of csv, jplot, json, mat, qw, raw, svg, txt\n"},
		{"getData.xls?pv=SR:PRES", 404, "getData.xls is not supported; use one of csv, jplot, json, mat, qw, raw, svg, txt\n"},
	} {
		code, got := r.get("/retrieval/data/" + c.path)
		if code != c.code || got != c.want {
			t.Errorf("GET %s returns %d\n%s", c.path, code, got)
		}
	}
}

// TestMetadata checks that every answer has units and precision, and that labels and limits
// are included on request.
func TestMetadata(t *testing.T) {
	r := newRig(t)
	r.put("SR:VALVE", ramp(newYear, 1), 1)
	r.check(r.store.PutMetadata(context.Background(), store.PVMetadata{PV: "SR:VALVE", Time: newYear, Metadata: sample.Metadata{
		Units: "mbar", Precision: 3, Labels: []string{"Open", "Shut \"x\""}, WarnHigh: 5, Count: 1,
	}}))
	_, got := r.get("/retrieval/data/getData.json?pv=SR:VALVE&from=2026-01-01T00:00:00Z")
	if !strings.HasPrefix(got, `[{"meta":{"name":"SR:VALVE","EGU":"mbar","PREC":"3"},`) {
		t.Errorf("got %s", got)
	}
	_, got = r.get("/retrieval/data/getData.json?pv=SR:VALVE&from=2026-01-01T00:00:00Z&fetchLatestMetadata=true")
	for _, want := range []string{`"ENUM_0":"Open","ENUM_1":"Shut \"x\""`, `"HIGH":"5.0"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the answer %s does not contain %s", got, want)
		}
	}
}

// TestCompression checks that JSON is compressed with gzip, that raw answers are not
// compressed, and that deflate is never used.
func TestCompression(t *testing.T) {
	r := newRig(t)
	r.put("SR:PRES", ramp(newYear, 4000), 1)
	for _, c := range []struct{ ext, accept, want string }{
		{"json", "gzip, deflate", "gzip"}, {"json", "deflate", ""}, {"json", "identity", ""}, {"raw", "gzip, deflate", ""},
	} {
		res, body, err := r.do(http.MethodGet, "/retrieval/data/getData."+c.ext+"?pv=SR:PRES&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", "",
			"Accept-Encoding", c.accept)
		r.check(err)
		if got := res.Header.Get("Content-Encoding"); got != c.want {
			t.Errorf("%s for %q is encoded as %q", c.ext, c.accept, got)
		}
		if c.want == "gzip" {
			z, err := gzip.NewReader(strings.NewReader(body))
			r.check(err)
			text, err := io.ReadAll(z)
			r.check(err)
			body = string(text)
		}
		if n := strings.Count(body, "\n"); n < 4000 {
			t.Errorf("%s for %q has %d lines", c.ext, c.accept, n)
		}
	}
}

// broken is a store that fails after some blocks.
type broken struct {
	store.Store
	after int
}

var errBroken = errors.New("the disk has failed")

func (b *broken) Blocks(ctx context.Context, pv string, bk store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		n := 0
		for blk, err := range b.Store.Blocks(ctx, pv, bk, from, to) {
			if n++; n > b.after {
				yield(store.Block{}, errBroken)
				return
			}
			if !yield(blk, err) {
				return
			}
		}
	}
}

// TestFailingStoreNeverLooksComplete checks that an answer that cannot be completed is an
// error or an aborted connection.
func TestFailingStoreNeverLooksComplete(t *testing.T) {
	b := &broken{Store: openStore(t)}
	r := newRigOn(t, b)
	for i := range uint32(4) {
		r.put("SR:PRES", ramp(newYear+int64(i)*4096*second, 4096), i+1)
	}
	const span = "pv=SR:PRES&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"
	for _, path := range []string{"/retrieval/data/getData.json?", "/retrieval/data/getData.raw?", "/api/v1/samples?"} {
		b.after = 0
		if code, got := r.get(path + span); code != 500 || !strings.Contains(got, errBroken.Error()) {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
		b.after = 3
		res, got, err := r.do(http.MethodGet, path+span, "")
		if res.StatusCode != 200 || len(got) == 0 || err == nil {
			t.Errorf("%s: an incomplete answer with status %d and %d bytes ends with the error %v", path, res.StatusCode, len(got), err)
		}
	}
}
