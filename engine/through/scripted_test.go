package through

import (
	"context"
	"iter"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
)

// scripted is an older archive without a network, for tests under the virtual clock of synctest.
type scripted struct {
	describe func(ctx context.Context, pv string) (*sample.Metadata, error)
	names    func(ctx context.Context, add func(name string)) error
}

func (s *scripted) Check(context.Context) error { return nil }

func (s *scripted) Describe(ctx context.Context, pv string, _ int64) (*sample.Metadata, error) {
	return s.describe(ctx, pv)
}

func (s *scripted) Names(ctx context.Context, add func(name string)) error { return s.names(ctx, add) }

func (s *scripted) SamplesAndLast(context.Context, string, int64, int64) iter.Seq2[*sample.Run, error] {
	return func(func(*sample.Run, error) bool) {}
}

// newScripted returns an Archive that asks a scripted one. The test closes it.
func newScripted(t *testing.T, s *scripted) *Archive {
	t.Helper()
	base, err := url.Parse("http://older.invalid/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	a := New(Config{Address: Address{URL: base}, Registerer: prometheus.NewRegistry(), Now: time.Now})
	a.reads = s
	return a
}

// silent returns what ends a context, as a server that sends nothing does.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// ofChain returns the context of a request that came through another archive, or of a client that says so.
func ofChain(ctx context.Context) context.Context {
	return context.WithValue(ctx, chainKey{}, "0123456789abcdef")
}
