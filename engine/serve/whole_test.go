package serve

import (
	"context"
	"errors"
	"iter"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
)

// errAway is the error of a store that stopped answering.
var errAway = errors.New("the store is away")

// goesAway is a store that stops answering after a number of reads. A row of a sequence counts as
// a read.
type goesAway struct {
	store.Store
	left   atomic.Int64
	failed atomic.Bool
}

func (g *goesAway) read() error {
	if g.left.Add(-1) < 0 {
		g.failed.Store(true)
		return errAway
	}
	return nil
}

// after sets the number of reads that succeed.
func (g *goesAway) after(n int64) {
	g.left.Store(n)
	g.failed.Store(false)
}

// rows passes on a sequence until the store goes away.
func rows[R any](g *goesAway, seq iter.Seq2[R, error]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		if err := g.read(); err != nil {
			yield(none, err)
			return
		}
		for r, err := range seq {
			if away := g.read(); away != nil {
				yield(none, away)
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (g *goesAway) Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error) {
	if err := g.read(); err != nil {
		return c, false, err
	}
	return g.Store.Channel(ctx, pv)
}

func (g *goesAway) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (blk store.Block, found bool, err error) {
	if err := g.read(); err != nil {
		return blk, false, err
	}
	return g.Store.LastBlock(ctx, pv, b, at)
}

func (g *goesAway) MetadataAt(ctx context.Context, pv string, at int64) (m store.PVMetadata, found bool, err error) {
	if err := g.read(); err != nil {
		return m, false, err
	}
	return g.Store.MetadataAt(ctx, pv, at)
}

func (g *goesAway) Claims(ctx context.Context, shard int) ([]store.Claim, error) {
	if err := g.read(); err != nil {
		return nil, err
	}
	return g.Store.Claims(ctx, shard)
}

func (g *goesAway) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	return rows(g, g.Store.Channels(ctx))
}

func (g *goesAway) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return rows(g, g.Store.Blocks(ctx, pv, b, from, to))
}

func (g *goesAway) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	return rows(g, g.Store.Marks(ctx, pv, from, to))
}

func (g *goesAway) LatestMarks(ctx context.Context, pv string, at int64) iter.Seq2[store.PVMark, error] {
	return rows(g, g.Store.LatestMarks(ctx, pv, at))
}

func (g *goesAway) Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMetadata, error] {
	return rows(g, g.Store.Metadata(ctx, pv, from, to))
}

func (g *goesAway) Rollups(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error] {
	return rows(g, g.Store.Rollups(ctx, pv, l, first, last))
}

// TestAnswersAreWholeOrFail checks, for each call that reads samples, that the answer is an error or
// ends early if the store goes away, no matter at which of the reads.
func TestAnswersAreWholeOrFail(t *testing.T) {
	const where = "&where=B%3E2+and+E%3D%27Open%27"
	var paths []string
	for _, format := range []string{"", "&format=csv", "&format=arrow", "&format=parquet"} {
		for _, query := range []string{"samples?pv=A&pv=S", "samples?pv=A&pv=B&align=3s", "samples?pv=A&align=2s&fill=mean", "samples?pv=A&pv=S" + where, "intervals?" + where[1:]} {
			paths = append(paths, "/api/v1/"+query+analysisSpan+format)
		}
		paths = append(paths, "/api/v1/snapshot?pv=A&pv=E&pv=W"+format, "/api/v1/snapshot?pv=B&at=2025-12-31T23:59:55Z"+format)
	}
	for _, query := range []string{"samples?pv=A&points=5", "samples?pv=A&pv=B&points=5", "marks?pv=B", "metadata?pv=A", "bins?pv=A&pv=E&points=800", "gaps?pv=B"} {
		paths = append(paths, "/api/v1/"+query+analysisSpan)
	}
	paths = append(paths, "/api/v1/names?pv=*", "/api/v1/metadata?pv=A&pv=E&at=2025-12-31T23:59:58Z", "/api/v1/channels/B",
		"/api/v1/samples?pv=A&format=csv&where=B%3E2"+analysisSpan,
		"/retrieval/data/getData.json?pv=A"+analysisSpan, "/retrieval/data/getData.raw?pv=A"+analysisSpan, "/retrieval/data/getData.csv?pv=mean_3(A)"+analysisSpan,
		"/retrieval/data/getDataAtTime?pv=A,E&at=2025-12-31T23:59:55Z")
	away := &goesAway{Store: openStore(t)}
	away.after(math.MaxInt64)
	r := analysisOn(newRigOn(t, away))
	r.channels = channels{{PV: "B", Group: "lab/x", State: capture.Disconnected}}
	for _, path := range paths {
		res, want, err := r.do(http.MethodGet, path, "")
		if r.check(err); res.StatusCode != http.StatusOK {
			t.Errorf("%s returns %d %s", path, res.StatusCode, want)
			continue
		}
		for n := int64(0); ; n++ {
			away.after(n)
			res, got, err := r.do(http.MethodGet, path, "")
			failed := away.failed.Load()
			away.after(math.MaxInt64)
			switch {
			case !failed && n == 0:
				t.Errorf("%s reads nothing from the store", path)
			case failed && err == nil && res.StatusCode == http.StatusOK:
				t.Errorf("%s returns 200 after the store went away at read %d:\n%s\nwant an error, or\n%s", path, n, got, want)
			case failed && err == nil && (res.StatusCode < 500 || !strings.Contains(got, errAway.Error())):
				t.Errorf("%s returns %d %s after the store went away at read %d", path, res.StatusCode, got, n)
			}
			if !failed {
				break
			}
		}
	}
}
