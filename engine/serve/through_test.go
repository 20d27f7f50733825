package serve

import (
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/through"
)

// newRigThrough returns an archive that reads through to the one at an address, as to an Appliance.
func newRigThrough(t *testing.T, older string) *rig {
	t.Helper()
	base, err := url.Parse(older + "/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	return newRigThroughAt(t, through.Address{URL: base})
}

// newRigThroughAt returns an archive that reads through to another one.
func newRigThroughAt(t *testing.T, older through.Address) *rig {
	t.Helper()
	now := func() time.Time { return time.Unix(0, newYear) }
	a := through.New(through.Config{Address: older, Registerer: prometheus.NewRegistry(), Now: now})
	t.Cleanup(a.Close)
	r := &rig{t: t, store: openStore(t)}
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: &query.Reader{Store: r.store, Shards: 4, Through: a.Through()}, Channels: &r.channels, Gatherer: reg, Metrics: NewMetrics(reg),
		Ready: func() error { return nil }, Warnings: a.Problems, Version: "1.2.3", Now: now, Log: slog.New(slog.DiscardHandler),
	})
	r.check(err)
	r.handler = a.Guard(h)
	r.listen()
	return r
}

// connect puts the mark that a PV was connected.
func (r *rig) connect(pv string, at int64) {
	r.check(r.store.PutMarks(r.t.Context(), store.PVMark{PV: pv, Writer: store.WriterID{9}, Mark: sample.Mark{Time: at, Kind: sample.Connected}}))
}

// numbers returns floats at seconds of the year.
func numbers(seconds ...int64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for _, s := range seconds {
		r.Append(&sample.Sample{Time: newYear + s*second, Word: math.Float64bits(float64(s))})
	}
	return r
}

// TestReadThroughAllAPIs compares what every API answers for two archives with what it answers for one that
// has all samples.
func TestReadThroughAllAPIs(t *testing.T) {
	older, one := newRig(t), newRig(t)
	own := newRigThrough(t, older.url)
	older.put("X", numbers(1, 2, 3, 10, 20, 25), 1) // 25 is after the seam
	own.put("X", numbers(20, 30, 40), 1)            // 20 is the first value of the subscription
	own.connect("X", newYear+22*second)
	one.put("X", numbers(1, 2, 3, 10, 20, 30, 40), 1)
	for _, r := range []*rig{older, one} {
		r.put("OLD", numbers(1, 5), 2)
		r.putMetadata("OLD", 3, "mA", 2, "a current")
	}
	at := func(s int64) string { return time.Unix(0, newYear+s*second).UTC().Format(time.RFC3339) }
	span := "&from=" + at(2) + "&to=" + at(35)
	for _, path := range []string{
		"/retrieval/data/getData.raw?pv=X" + span,
		"/retrieval/data/getData.json?pv=X" + span,
		"/retrieval/data/getData.json?pv=OLD" + span,
		"/retrieval/data/getData.json?pv=mean_10(X)" + span,
		"/retrieval/data/getData.json?pv=optimized_4(X)" + span,
		"/retrieval/data/getData.json?pv=ncount(X)" + span,
		"/retrieval/data/getData.json?pv=mean_10(OLD)" + span,
		"/retrieval/data/getDataAtTime?pv=X,OLD&at=" + at(15),
		"/retrieval/data/getDataAtTime?pv=X&at=" + at(21),
		"/retrieval/data/getDataAtTime?pv=X&at=" + at(50),
		"/retrieval/bpl/getMatchingPVs?pv=*",
		"/api/v1/samples?pv=X&align=5s&format=csv" + span,
		"/api/v1/bins?pv=X&points=10" + span,
		"/api/v1/names",
	} {
		code, want := one.get(path)
		got, text := own.get(path)
		if code != http.StatusOK || got != code || text != want {
			t.Errorf("%s: %d\n%s\nwant %d\n%s", path, got, text, code, want)
		}
	}
	if code, text := own.get("/retrieval/data/getData.json?pv=NOBODY" + span); code != http.StatusNotFound {
		t.Errorf("a PV that no archive knows: %d %s", code, text)
	}
}

// TestReadThroughToJSONArchiveAccess checks types that the protocol does not have, the first value of a subscription in
// both archives, search, metadata, and a name that must be escaped.
func TestReadThroughToJSONArchiveAccess(t *testing.T) {
	const pv = "SR//01:X+{a}"
	older := newRig(t)
	own := newRigThroughAt(t, older.throughs()["JSON archive access"])
	ints := &sample.Run{Type: sample.Int16}
	for _, s := range []int64{1, 2, 5} {
		ints.Append(&sample.Sample{Time: newYear + s*second, Word: uint64(-s), Tag: sample.MakeTag(sample.Minor, 4)})
	}
	older.put(pv, ints, 1)
	older.putMetadata(pv, 3, "mA", 2, "a current")
	again := &sample.Run{Type: sample.Int16}
	again.AppendRange(ints, 2, 3)
	again.Append(&sample.Sample{Time: newYear + 9*second, Word: 9})
	own.put(pv, again, 1)
	own.connect(pv, newYear+6*second)
	span := "&from=2026-01-01T00:00:01Z&to=2026-01-01T00:01:00Z"
	code, text := own.get("/retrieval/data/getData.csv?pv=" + url.QueryEscape(pv) + span)
	if want := "1767225601,-1,1,4,0\n1767225602,-2,1,4,0\n1767225605,-5,1,4,0\n1767225609,9,0,0,0\n"; code != 200 || text != want {
		t.Errorf("read %d\n%s\nwant\n%s", code, text, want)
	}
	enum := &sample.Run{Type: sample.Enum}
	enum.Append(&sample.Sample{Time: newYear, Word: 1})
	older.put("OLD", enum, 1)
	older.check(older.store.PutMetadata(t.Context(), store.PVMetadata{PV: "OLD", Time: newYear, Metadata: sample.Metadata{Labels: []string{"off", "on"}, Type: sample.Enum, Count: 1}}))
	for path, want := range map[string]string{
		"/retrieval/bpl/getMatchingPVs?pv=*":                                  `"OLD"`,
		"/retrieval/data/getData.json?pv=OLD&fetchLatestMetadata=true" + span: `"ENUM_1":"on"`,
		"/retrieval/bpl/getMatchingPVs?pv=SR*":                                `"` + pv + `"`,
		"/api/v1/names":                                                       "OLD",
		"/mgmt/bpl/getPVTypeInfo?pv=OLD":                                      "DBR_SCALAR_ENUM",
		"/retrieval/data/getData.csv?pv=NONE" + span:                          "unknown PV",
	} {
		if code, text := own.get(path); !strings.Contains(text, want) {
			t.Errorf("%s: %d\n%s\nlacks %s", path, code, text, want)
		}
	}
}

// TestReadThroughChain reads through two archives, and finds loops.
func TestReadThroughChain(t *testing.T) {
	first := newRig(t)
	first.put("X", numbers(1), 1)
	second := newRigThrough(t, first.url)
	third := newRigThrough(t, second.url)
	const path = "/retrieval/data/getData.json?pv=X&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z"
	_, want := first.get(path)
	if code, text := third.get(path); code != http.StatusOK || text != want {
		t.Errorf("%d %s, want %s", code, text, want)
	}
	loop := newRig(t)
	own := newRigThrough(t, loop.url)
	loop.handler = own.handler
	if code, text := own.get(path); code != http.StatusBadGateway || !strings.Contains(text, "reads through to this archive") {
		t.Errorf("a loop: %d %s", code, text)
	}
}

// TestReadThroughSaysThatTheOlderArchiveIsAway stops the older archive.
func TestReadThroughSaysThatTheOlderArchiveIsAway(t *testing.T) {
	own := newRigThrough(t, "http://127.0.0.1:1") // nobody listens
	own.put("X", numbers(20), 1)
	own.connect("X", newYear+22*second)
	if code, text := own.get("/retrieval/data/getData.raw?pv=X&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z"); code != http.StatusBadGateway {
		t.Errorf("a range that needs the older archive: %d %s", code, text)
	}
	if code, text := own.get("/retrieval/data/getData.json?pv=X&from=2026-01-01T00:10:00Z&to=2026-01-01T00:11:00Z"); code != http.StatusOK || !strings.Contains(text, "20") {
		t.Errorf("a range that does not: %d %s", code, text)
	}
	if _, text := own.get("/readyz"); !strings.Contains(text, "warning: the older archive at http://127.0.0.1:1/retrieval cannot be read since ") {
		t.Errorf("/readyz says %s", text)
	}
}
