package seal

import (
	"context"
	"slices"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/tiling"
)

// positions is what a sealer saw of the shard's claims.
type positions struct {
	// at is when the sealer last began to read the claims, and before is when it did so the
	// time before, in ns since 1970.
	at, before int64
	// sealed are the sealed positions of all writers: as they were then, and as this sealer
	// raised them since. Nil: the sealer has not read the claims yet.
	sealed map[store.WriterID]store.Position
}

// begin notes that the sealer begins to read the claims.
func (p *positions) begin() { p.before, p.at = p.at, time.Now().UnixNano() }

// noteRaised notes that this sealer raised a position.
func (p *positions) noteRaised(w store.WriterID, to store.Position) {
	if p.sealed != nil {
		p.sealed[w] = to
	}
}

// compare returns what other sealers did since the claims were read before. At the first read
// this sealer knows nothing of any PV, so there is no news.
func (p *positions) compare(claims []store.Claim) *tiling.News {
	n := &tiling.News{At: p.at, Before: p.before}
	if p.sealed == nil {
		return n
	}
	known := 0
	for _, c := range claims {
		was, ok := p.sealed[c.Writer]
		if ok {
			known++
		}
		if c.Sealed > was {
			n.Raised = append(n.Raised, tiling.Raised{Writer: c.Writer, After: was, To: c.Sealed})
		}
	}
	n.Gone = known < len(p.sealed)
	return n
}

// reviseAfterOthers accounts for the work of other sealers of the shard, which the series and the
// tiles of this one lack.
func (s *Shard) reviseAfterOthers(ctx context.Context, claims []store.Claim) error {
	sealed := map[store.WriterID]store.Position{}
	for _, c := range claims {
		sealed[c.Writer] = c.Sealed
	}
	news := s.positions.compare(claims)
	news.Others = s.hasOtherSealers(claims)
	if news.Any() {
		s.distrustSeries()
	}
	if err := s.tiles.Revise(ctx, news); err != nil {
		return err
	}
	s.positions.sealed = sealed
	return nil
}

// hasOtherSealers reports whether another engine seals, or began to seal and has not said that it
// follows since.
func (s *Shard) hasOtherSealers(claims []store.Claim) bool {
	return slices.ContainsFunc(claims, func(c store.Claim) bool {
		return c.Writer != s.shardJournal.Writer() && c.Sealing != store.Follows
	})
}
