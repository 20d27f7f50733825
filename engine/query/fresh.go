package query

import (
	"context"
	"slices"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// readJournal gathers the samples in the unsealed rows of a shard, except those of writers
// that memory covers. Most rows of a shard have no sample of the PV, and the reader fetches only
// their indexes.
func (p *plan) readJournal(ctx context.Context, shard int, claims []store.Claim, covered []store.WriterID) error {
	for _, c := range claims {
		if slices.Contains(covered, c.Writer) {
			continue
		}
		for row, err := range p.store.JournalWhere(ctx, shard, c.Writer, c.Sealed, c.Last, p.holds) {
			if err != nil {
				return err
			}
			if !p.holds(row.Index) {
				continue
			}
			runs, err := journal.Find(row, p.PV)
			if err != nil {
				return err
			}
			for _, r := range runs {
				p.gather(r)
			}
		}
	}
	return nil
}

// holds reports whether a row with this index may have samples of the PV. A damaged index may
// have hidden them: journal.Find returns the error.
func (p *plan) holds(index []byte) bool {
	held, err := journal.Holds(index, p.PV)
	return held || err != nil
}

// largeRun is a size in bytes. A run of at least this size is not copied into a longer run.
const largeRun = 1 << 20

// gather adds the samples of a run to Unsealed, except those that the range does not need. The
// caller passes runs in order of arrival.
func (p *plan) gather(r *sample.Run) {
	r = r.Within(p.since, p.To)
	switch i := slices.IndexFunc(p.Unsealed, func(f *sample.Run) bool { return f.Type == r.Type }); {
	case r.Len() == 0:
	case r.Size() >= largeRun && !r.Type.Fixed():
		p.large = append(p.large, r)
	case i < 0:
		p.Unsealed = append(p.Unsealed, &sample.Run{Type: r.Type})
		i = len(p.Unsealed) - 1
		fallthrough
	default:
		p.Unsealed[i].AppendRange(r, 0, r.Len())
	}
}
