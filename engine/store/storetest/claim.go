package storetest

import (
	"math"
	"slices"
	"testing"

	"varve.dev/varve/engine/store"
)

func (s *suite) claims(t *testing.T, shard int) []store.Claim {
	t.Helper()
	claims, err := s.Claims(t.Context(), shard)
	must(t, err)
	for i := range claims {
		claims[i].Stamp = 0
	}
	return claims
}

// claim returns the stored claim of a writer.
func (s *suite) claim(t *testing.T, shard int, w store.WriterID) store.Claim {
	t.Helper()
	claims, err := s.Claims(t.Context(), shard)
	must(t, err)
	i := slices.IndexFunc(claims, func(c store.Claim) bool { return c.Writer == w })
	if i < 0 {
		t.Fatalf("writer %v has no claim", w)
	}
	return claims[i]
}

func testClaims(t *testing.T, s *suite) {
	shard := s.shard()
	equal(t, "claims of a new shard", s.claims(t, shard), []store.Claim(nil))
	low := store.Claim{Shard: shard, Writer: newWriter(), Epoch: 1, Since: -5, Alive: 7, Sealing: store.FirstTerm, Saved: -4}
	high := store.Claim{Shard: shard, Writer: newWriter(), Epoch: 300, Since: math.MinInt64, Alive: math.MaxInt64}
	other := store.Claim{Shard: s.shard(), Writer: low.Writer, Epoch: 2}
	for _, c := range []store.Claim{low, high, other, low} {
		must(t, s.PutClaim(t.Context(), c))
	}
	equal(t, "claims", s.claims(t, shard), []store.Claim{high, low})

	low.Alive, low.Closed, low.Last, low.Sealing = 9, true, store.At(3, 4), store.Follows
	must(t, s.PutClaim(t.Context(), low))
	equal(t, "claims after one writer closed", s.claims(t, shard), []store.Claim{high, low})
	equal(t, "claims of another shard", s.claims(t, other.Shard), []store.Claim{other})
}

func testSealIsMonotone(t *testing.T, s *suite) {
	c := store.Claim{Shard: s.shard(), Writer: newWriter(), Epoch: 1}
	must(t, s.PutClaim(t.Context(), c))
	for _, to := range []store.Position{store.At(1, 2), store.At(1, 1), store.At(2, 1), store.At(1, 9), store.At(70000, 1), store.At(2, 1)} {
		must(t, s.Seal(t.Context(), c.Shard, c.Writer, to))
		c.Sealed = max(c.Sealed, to)
		equal(t, "claims after sealing", s.claims(t, c.Shard), []store.Claim{c})
	}
	lower := c
	lower.Sealed, lower.Alive = 0, 12
	must(t, s.PutClaim(t.Context(), lower))
	c.Alive = 12
	equal(t, "claims after a sign of life", s.claims(t, c.Shard), []store.Claim{c})
}

func testDropClaim(t *testing.T, s *suite) {
	stays := store.Claim{Shard: s.shard(), Writer: newWriter(), Epoch: 1}
	goes := store.Claim{Shard: stays.Shard, Writer: newWriter(), Epoch: 2, Closed: true, Last: store.At(2, 1), Sealing: 7}
	for _, c := range []store.Claim{stays, goes} {
		must(t, s.PutClaim(t.Context(), c))
		must(t, s.PutJournal(t.Context(), row(c.Shard, c.Writer, store.At(1, 1), "a")))
		must(t, s.PutJournal(t.Context(), row(c.Shard, c.Writer, store.At(2, 1), "b")))
	}
	must(t, s.Seal(t.Context(), goes.Shard, goes.Writer, goes.Last))
	seen := s.claim(t, goes.Shard, goes.Writer)
	for range 2 {
		must(t, s.DropClaim(t.Context(), seen))
		equal(t, "claims after one claim was dropped", s.claims(t, stays.Shard), []store.Claim{stays})
	}
	equal(t, "rows of the other writer", len(s.journal(t, stays.Shard, stays.Writer, 0)), 2)

	must(t, s.Seal(t.Context(), goes.Shard, goes.Writer, goes.Last))
	equal(t, "claims after a late Seal", s.claims(t, stays.Shard), []store.Claim{stays})

	// A writer that was wrongly taken for dead writes its claim again. Its rows are then
	// sealed like the rows of any other writer.
	goes.Closed, goes.Last, goes.Sealed = false, 0, store.At(3, 1)
	must(t, s.PutClaim(t.Context(), goes))
	must(t, s.Seal(t.Context(), goes.Shard, goes.Writer, goes.Sealed))
	equal(t, "claims after a dropped writer came back", s.claims(t, stays.Shard), []store.Claim{goes, stays})
}

// testClaimThatWasPutSince tests that a claim is not dropped if it was renewed or closed after
// it was read. The writer may have written unsealed rows since then.
func testClaimThatWasPutSince(t *testing.T, s *suite) {
	c := store.Claim{Shard: s.shard(), Writer: newWriter(), Epoch: 1, Alive: 5}
	must(t, s.PutClaim(t.Context(), c))
	must(t, s.PutJournal(t.Context(), row(c.Shard, c.Writer, store.At(1, 1), "a")))
	must(t, s.Seal(t.Context(), c.Shard, c.Writer, store.At(1, 1)))
	c.Sealed = store.At(1, 1)
	for _, change := range []func(){
		func() { c.Alive = 6 },
		func() { c.Closed, c.Last = true, store.At(1, 2) },
	} {
		seen := s.claim(t, c.Shard, c.Writer)
		change()
		must(t, s.PutJournal(t.Context(), row(c.Shard, c.Writer, store.At(1, 2), "b")))
		must(t, s.PutClaim(t.Context(), c))
		must(t, s.DropClaim(t.Context(), seen))
		equal(t, "claims", s.claims(t, c.Shard), []store.Claim{c})
		equal(t, "rows that are not sealed", len(s.journal(t, c.Shard, c.Writer, c.Sealed)), 1)
	}
	must(t, s.DropClaim(t.Context(), s.claim(t, c.Shard, c.Writer)))
	equal(t, "claims at the end", s.claims(t, c.Shard), []store.Claim(nil))
}
