package restore

import (
	"testing"
	"time"

	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/test/cassandra"
)

// storeReader reads an archive from the store only, without engines.
type storeReader struct {
	*query.Reader
	t   *testing.T
	ioc *ioc
}

func reader(t *testing.T, i *ioc, node *cassandra.Node, keyspace string) storeReader {
	t.Helper()
	return storeReader{&query.Reader{Store: openStore(t, node, keyspace), Shards: shards}, t, i}
}

// numbers returns the numbers of a PV's stored samples. It fails the test if a stored sample
// differs from the one that was sent, or if a sample is duplicated or out of order.
func (r storeReader) numbers(pv string) (found []int) {
	r.t.Helper()
	read, err := r.Read(r.t.Context(), pv, query.Earliest, query.Latest, query.Options{})
	if err != nil {
		r.t.Fatalf("reading %s: %v", pv, err)
	}
	last := -1
	for run, err := range read.All {
		if err != nil {
			r.t.Fatalf("reading %s: %v", pv, err)
		}
		for k := range run.Len() {
			got, n := run.At(k), r.ioc.number(run.Times[k])
			if want, ok := r.ioc.sample(pv, n); !ok || !got.Same(&want) {
				r.t.Fatalf("%s: the sample read at %v differs from sample %d", pv, time.Unix(0, got.Time), n)
			}
			if n <= last {
				r.t.Fatalf("%s: sample %d follows sample %d", pv, n, last)
			}
			found, last = append(found, n), n
		}
	}
	return found
}

// checkSamples fails the test unless the archive has the first n samples of each number PV,
// and the samples of the image that were sent with them.
func (r storeReader) checkSamples(n int) {
	r.t.Helper()
	for _, pv := range all() {
		found := r.numbers(pv)
		if missing := firstMissing(pv, found); missing < n {
			r.t.Errorf("%s: sample %d of %d is missing", pv, missing, n)
		}
		r.t.Logf("%s: %d samples, want at least %d", pv, len(found), samples(pv, n))
	}
}

// firstMissing returns the number of the first missing sample of a PV.
func firstMissing(pv string, found []int) int {
	step := 1
	if pv == image {
		step = imageEvery
	}
	for k, n := range found {
		if n != k*step {
			return k * step
		}
	}
	return len(found) * step
}

// checkBins fails the test unless rollup tiles are stored and the bins of a number PV count
// all of its first n samples.
func (r storeReader) checkBins(n int) {
	r.t.Helper()
	pv, perBin := pvs[0], int(level.Every()/period)
	from, to := r.ioc.begin.UnixNano(), r.ioc.begin.Add(time.Duration(n/perBin*perBin)*period).UnixNano()
	tiles := 0
	for _, err := range r.Store.Rollups(r.t.Context(), pv, level, level.Tile(from), level.Tile(to)) {
		if err != nil {
			r.t.Fatal(err)
		}
		tiles++
	}
	if tiles == 0 {
		r.t.Errorf("%s has no rollup tiles", pv)
	}
	bins, err := r.Bins(r.t.Context(), pv, from, to-1, n/perBin, query.BinOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	count := 0
	for bin, err := range bins.All {
		if err != nil {
			r.t.Fatal(err)
		}
		if bin.Count != uint64(perBin) {
			r.t.Errorf("%s: the bin at %v counts %d samples, want %d", pv, time.Unix(0, bin.Start), bin.Count, perBin)
		}
		count++
	}
	if count != n/perBin {
		r.t.Errorf("%s has %d bins, want %d", pv, count, n/perBin)
	}
}

// checkStore fails the test if varve store check would report a problem.
func (r storeReader) checkStore() {
	r.t.Helper()
	for _, f := range r.check().Findings {
		if f.Severity != check.Info {
			r.t.Errorf("varve store check: %s %s, %s: %s", f.Kind, f.PV, f.Where, f.Text)
		}
	}
}

// check returns the report of varve store check.
func (r storeReader) check() check.Report {
	r.t.Helper()
	report, err := check.Run(r.t.Context(), r.Store, check.Options{Shards: shards})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Logf("varve store check: %d blocks with %d samples, %d unsealed rows; %v", report.Blocks, report.Samples, report.Rows, report.Counts)
	return report
}
