package cassandra_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
)

// TestTheTailOfOnePVIsReadByTheIndex journals a shard with many PVs, and reads one PV of which no
// engine holds samples. The read must fetch the indexes of all rows, and the bodies only of those
// rows that have the PV.
func TestTheTailOfOnePVIsReadByTheIndex(t *testing.T) {
	const pvs, rows, rare = 300, 40, 10 // the rare PV is in one of ten rows
	cfg := config(t)
	reg := prometheus.NewRegistry()
	cfg.Registerer = reg
	st := open(t, cfg)
	journalShard(t, st, pvs, rows, rare)
	fetched := func(read func()) int {
		before := sum(t, reg, "varve_cassandra_read_bytes_total")
		read()
		return int(sum(t, reg, "varve_cassandra_read_bytes_total") - before)
	}
	claims, err := st.Claims(t.Context(), 0)
	if err != nil || len(claims) != 1 {
		t.Fatal(claims, err)
	}
	all := fetched(func() {
		for _, err := range st.Journal(t.Context(), 0, claims[0].Writer, 0, 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	index := fetched(func() {
		for _, err := range st.JournalWhere(t.Context(), 0, claims[0].Writer, 0, 0, func([]byte) bool { return false }) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if index*3 > all { // with values as random as these, an index has far fewer bytes than a body
		t.Errorf("the indexes of all rows are read with %d bytes, and the rows with %d", index, all)
	}
	r := &query.Reader{Store: st, Recent: known{}, Shards: 1}
	for pv, want := range map[string]struct{ samples, bytes int }{
		"RARE": {rows / rare, index + (all-index)/rare*5/4}, // rows differ a little in size
		"PV 0": {rows, all}, "NONE": {0, index},
	} {
		n := 0
		bytes := fetched(func() {
			s, err := r.Read(t.Context(), pv, query.Earliest, query.Latest, query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for run, err := range s.All {
				if err != nil {
					t.Fatal(err)
				}
				n += run.Len()
			}
		})
		t.Logf("%s: %d samples, %d bytes of %d in %d rows, whose indexes have %d", pv, n, bytes, all, rows, index)
		if n != want.samples || bytes > want.bytes {
			t.Errorf("a read of %s yields %d samples and fetches %d bytes of the %d bytes of the journal, want %d samples and at most %d bytes", pv, n, bytes, all, want.samples, want.bytes)
		}
	}
}

// TestReadFindsRowsBehindExpiredOnes reads unsealed rows of a writer whose older partitions have
// expired because nothing was sealed for long.
func TestReadFindsRowsBehindExpiredOnes(t *testing.T) {
	s := newTorn(t)
	w := store.NewWriter()
	s.must(s.PutClaim(t.Context(), store.Claim{Writer: w, Epoch: 1, Last: store.At(60, 1)}))
	for n := uint32(58); n <= 61; n++ { // the claim is older than the last row
		mem := journal.NewMemory(1 << 20)
		j := journal.NewShardJournal(0, w, &journal.Config{
			Store: renumbered{s.Store, n}, Flush: time.Hour, RowBytes: 1 << 10, Memory: mem, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem),
			Log: slog.New(slog.DiscardHandler),
		})
		j.Append(j.Open("T", sample.Float64), sample.Float64, &sample.Sample{Time: int64(n) * 1e9})
		ctx, end := context.WithCancel(t.Context())
		end()
		j.Run(ctx, t.Context())
	}
	r := &query.Reader{Store: s, Recent: known{}, Shards: 1}
	got, err := r.Read(t.Context(), "T", query.Earliest, query.Latest, query.Options{})
	s.must(err)
	n := 0
	for run, err := range got.All {
		s.must(err)
		n += run.Len()
	}
	if n != 4 {
		t.Errorf("a read finds %d samples, want 4", n)
	}
}

// renumbered is a store that writes no claims, and all rows under one position.
type renumbered struct {
	*cassandrastore.Store
	n uint32
}

func (renumbered) PutClaim(context.Context, store.Claim) error { return nil }

func (r renumbered) PutJournal(ctx context.Context, row store.JournalRow) error {
	row.At = store.At(r.n, 1)
	return r.Store.PutJournal(ctx, row)
}

// journalShard journals some rows with a sample of each PV. Every rare-th row also has a sample
// of the PV RARE.
func journalShard(t *testing.T, st *cassandrastore.Store, pvs, rows, rare int) {
	mem := journal.NewMemory(1 << 30)
	j := journal.NewShardJournal(0, store.NewWriter(), &journal.Config{
		Store: st, Flush: time.Hour, RowBytes: 256 << 10, Memory: mem, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler),
	})
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); j.Run(ctx, t.Context()) }()
	defer func() { end(); <-ended }()
	var heads []*journal.Head
	for i := range pvs {
		heads = append(heads, j.Open(fmt.Sprint("PV ", i), sample.Float64))
	}
	seldom := j.Open("RARE", sample.Float64)
	for row := range rows {
		s := sample.Sample{Time: int64(row) * 1e9}
		for i, h := range heads {
			s.Word = math.Float64bits(math.Sqrt(float64(row*pvs + i))) // does not compress, as noise
			j.Append(h, sample.Float64, &s)
		}
		if row%rare == 0 {
			j.Append(seldom, sample.Float64, &s)
		}
		if err := j.Sync(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// known is a query.Recent of an archive whose engines do not answer.
type known struct{}

func (known) Recent(context.Context, query.RecentRequest) query.Held {
	return query.Held{Known: true, Shards: []int{0}, Unanswered: true}
}
