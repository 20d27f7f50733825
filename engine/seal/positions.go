package seal

import (
	"context"
	"slices"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/tiling"
)

// positions holds what a sealer has read in the shard's claims.
type positions struct {
	// at is the time when the sealer last began to read the claims. before is the time of the
	// previous read. Both are in ns since 1970.
	at, before int64
	// sealed holds the sealed positions of all writers: those that were read from the claims,
	// and those to which this sealer has raised them since. It is nil until the sealer has
	// read the claims.
	sealed map[store.WriterID]store.Position
}

// begin records that the sealer begins to read the claims.
func (p *positions) begin() { p.before, p.at = p.at, time.Now().UnixNano() }

// noteRaised records that this sealer raised a position.
func (p *positions) noteRaised(w store.WriterID, to store.Position) {
	if p.sealed != nil {
		p.sealed[w] = max(p.sealed[w], to) // another sealer may have raised it further
	}
}

// compare returns what other sealers have done since the previous read of the claims. After
// the first read it reports no changes, because this sealer knows nothing about any PV yet.
func (p *positions) compare(claims []store.Claim) *tiling.OtherSealers {
	n := &tiling.OtherSealers{At: p.at, Before: p.before}
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

// reviseAfterOthers takes account of the work of other sealers of the shard, which is missing
// in the series and the tiles of this sealer.
func (s *Shard) reviseAfterOthers(ctx context.Context, claims []store.Claim) error {
	sealed := map[store.WriterID]store.Position{}
	for _, c := range claims {
		sealed[c.Writer] = c.Sealed
	}
	seen := s.positions.compare(claims)
	seen.Others = s.hasOtherSealers(claims)
	if seen.Any() {
		s.rereadSeries()
	}
	if err := s.tiles.Revise(ctx, seen); err != nil {
		return err
	}
	s.positions.sealed = sealed
	return nil
}

// hasOtherSealers reports whether another engine may seal: its claim does not say that it
// follows.
func (s *Shard) hasOtherSealers(claims []store.Claim) bool {
	return slices.ContainsFunc(claims, func(c store.Claim) bool {
		return c.Writer != s.shardJournal.Writer() && c.Sealing != store.Follows
	})
}
