package serve

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// newNamed returns an archive that knows names of PVs.
func newNamed(t *testing.T, facts ...names.Fact) *rig {
	r := &rig{t: t, store: openStore(t)}
	book := names.NewBook(r.store, nil)
	w := names.NewWriter(book, store.WriterID{7}, func() int64 { return newYear }, slog.New(slog.DiscardHandler))
	named := map[string]names.Fact{}
	for _, f := range facts {
		named[f.PV] = f
	}
	w.Set(named, func(string) bool { return false })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(ended, t.Context())
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: &query.Reader{Store: r.store, Shards: 4, Now: func() int64 { return newYear }, Index: nameindex.New(nameindex.Config{Store: r.store})}, Channels: &r.channels, Names: book, Gatherer: reg, Metrics: NewMetrics(reg),
		Ready: func() error { return nil }, Archive: "lab/main", Version: "1.2.3", Now: func() time.Time { return time.Unix(0, newYear) }, Log: slog.New(slog.DiscardHandler),
	})
	r.check(err)
	r.handler = h
	r.listen()
	return r
}

// connected puts the mark and the metadata of a connection.
func (r *rig) connected(pv string, at int64) {
	r.t.Helper()
	r.check(r.store.PutMarks(r.t.Context(), store.PVMark{PV: pv, Writer: store.WriterID{1}, Mark: sample.Mark{Time: at, Kind: sample.Connected}}))
	m := sample.Metadata{Type: sample.Float64, Count: 1, Units: "mA", Properties: []sample.Property{{Name: "DESC", Value: "beam current"}}}
	r.check(r.store.PutMetadata(r.t.Context(), store.PVMetadata{PV: pv, Time: at, Metadata: m}))
}

// TestEveryReadJoinsFormerNames compares the answers of every read path about a renamed PV, and about an alias, with those of an
// archive that has all samples under one name.
func TestEveryReadJoinsFormerNames(t *testing.T) {
	first, seam := newYear-600*second, newYear-300*second
	r := newNamed(t, names.Fact{PV: "SR:I", Former: []string{"SR:O"}, Aliases: []string{"SR:A"}})
	r.put("SR:O", ramp(first, 295), 1)
	r.connected("SR:O", first)
	r.check(r.store.PutMarks(t.Context(), store.PVMark{PV: "SR:O", Writer: store.WriterID{1}, Mark: sample.Mark{Time: seam - 5*second, Kind: sample.Disconnected, Text: "restart"}}))
	r.put("SR:I", ramp(seam, 300), 1)
	r.connected("SR:I", seam)
	r.channels = channels{{PV: "SR:I", Group: "ns/a", State: capture.Connected, Since: seam}}

	one := newNamed(t)
	for _, pv := range []string{"SR:I", "SR:A"} {
		one.put(pv, ramp(first, 295), 1)
		one.put(pv, ramp(seam, 300), 2)
		one.connected(pv, first)
		one.check(one.store.PutMarks(t.Context(), store.PVMark{PV: pv, Writer: store.WriterID{1}, Mark: sample.Mark{Time: seam - 5*second, Kind: sample.Disconnected, Text: "restart"}}))
		one.connected(pv, seam)
		one.channels = append(one.channels, capture.Status{PV: pv, Group: "ns/a", State: capture.Connected, Since: seam})
	}
	const span = "&from=2025-12-31T23:49:00Z&to=2026-01-01T00:00:00Z"
	for _, path := range []string{
		"/retrieval/data/getData.json?pv=PV" + span, "/retrieval/data/getData.csv?pv=PV" + span, "/retrieval/data/getData.txt?pv=PV" + span,
		"/retrieval/data/getData.raw?pv=PV" + span, "/retrieval/data/getData.json?pv=mean_60(PV)" + span, "/retrieval/data/getData.json?pv=optimized_10(PV)" + span,
		"/retrieval/data/getData.json?pv=PV.DESC" + span, "/retrieval/data/getData.json?pv=PV&from=2025-12-31T23:54:58Z&to=2025-12-31T23:54:58Z",
		"/api/v1/samples?pv=PV" + span, "/api/v1/samples?pv=PV&points=20" + span, "/api/v1/samples?pv=PV&where=PV%3E100" + span, "/api/v1/bins?pv=PV&points=20" + span,
		"/api/v1/statistics?pv=PV" + span, "/api/v1/gaps?pv=PV" + span, "/api/v1/marks?pv=PV" + span, "/api/v1/metadata?pv=PV" + span, "/api/v1/snapshot?pv=PV&at=2025-12-31T23:52:00Z",
		"/api/v1/samples?pv=PV&align=30s" + span, "/api/v1/samples?pv=PV&align=30s&fill=mean" + span, "/api/v1/files?pv=PV" + span, "/prometheus/api/v1/query?query=PV&time=1767225120",
		"/prometheus/api/v1/query_range?query=PV&start=1767224900&end=1767225120&step=10",
		"/archive-access/api/1.0/archive/1/samples/PV?start=1767224900000000000&end=1767225500000000000", "/mgmt/bpl/getPVStatus?pv=PV", "/retrieval/bpl/areWeArchivingPV?pv=PV",
		"/retrieval/bpl/getMetadata?pv=PV",
	} {
		for _, pv := range []string{"SR:I", "SR:A"} {
			at := strings.ReplaceAll(path, "PV=", "pv=")
			at = strings.ReplaceAll(strings.ReplaceAll(at, "pv=PV", "pv="+pv), "(PV)", "("+pv+")")
			at = strings.ReplaceAll(strings.ReplaceAll(at, "query=PV", "query="+pv), "where=PV", "where="+pv)
			at = strings.ReplaceAll(at, "samples/PV", "samples/"+pv)
			code, got := r.get(at)
			wantCode, want := one.get(at)
			if strings.Contains(path, "getPVStatus") { // the alias has the PV as pvNameOnly, as in the Appliance
				want = strings.ReplaceAll(want, `"pvNameOnly":"SR:A"`, `"pvNameOnly":"SR:I"`)
			}
			if code != wantCode || got != want || code == 200 && len(got) < 10 {
				t.Errorf("%s answers %d:\n%.700s\nwant %d:\n%.700s", at, code, got, wantCode, want)
			} else if code != 200 && !strings.Contains(path, "samples/") {
				t.Errorf("%s answers %d: %.200s", at, code, got)
			}
		}
	}
}

// TestAliasesInTheAppliancesCalls checks the calls about names.
func TestAliasesInTheAppliancesCalls(t *testing.T) {
	r := newNamed(t, names.Fact{PV: "SR:I", Former: []string{"SR:O"}, Aliases: []string{"AL:Z", "AL:A"}})
	r.put("SR:I", ramp(newYear-10*second, 5), 1)
	r.put("SR:O", ramp(newYear-20*second, 5), 1)
	r.channels = channels{{PV: "SR:I", Group: "ns/a", State: capture.Connected, Since: newYear}}
	for path, want := range map[string]string{
		"/mgmt/bpl/getAllAliases":               `[{"aliasName":"AL:A","srcPVName":"SR:I"},{"aliasName":"AL:Z","srcPVName":"SR:I"}]`,
		"/mgmt/bpl/getAllExpandedPVNames":       `["AL:A","AL:Z","SR:I","SR:O"]`,
		"/retrieval/bpl/getMatchingPVs?pv=SR:O": `["SR:I","SR:O"]`,
		"/mgmt/bpl/archivedPVs?pv=AL:A,NO":      `["AL:A"]`,
	} {
		if code, got := r.get(path); code != 200 || got != want+"\n" {
			t.Errorf("GET %s returns %d %s", path, code, got)
		}
	}
	var channel struct {
		PV, AliasOf       string
		Formerly, Aliases []string
	}
	_, text := r.get("/api/v1/channels/AL:A")
	if err := json.Unmarshal([]byte(text), &channel); err != nil || channel.PV != "AL:A" || channel.AliasOf != "SR:I" || len(channel.Formerly) != 1 || len(channel.Aliases) != 2 {
		t.Errorf("the channel is %s", text)
	}
	if _, text := r.get("/api/v1/pvs"); !strings.Contains(text, `"formerly":["SR:O"]`) {
		t.Errorf("the table is %s", text)
	}
}
