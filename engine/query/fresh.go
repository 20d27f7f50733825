package query

import (
	"context"
	"slices"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// readJournal gathers the samples in the unsealed rows of a shard, except those of writers
// that memory covers.
func (p *plan) readJournal(ctx context.Context, shard int, claims []store.Claim, covered []store.WriterID) error {
	for _, c := range claims {
		if slices.Contains(covered, c.Writer) {
			continue
		}
		for row, err := range p.store.Journal(ctx, shard, c.Writer, c.Sealed) {
			if err != nil {
				return err
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

// largeRun is a size in bytes. A run of at least this size is not copied into a longer run,
// and its samples outside of the range are dropped at once.
const largeRun = 1 << 20

// gather adds the samples of a run to Unsealed. The caller passes runs in order of
// arrival.
func (p *plan) gather(r *sample.Run) {
	if !r.Type.Fixed() && r.Size() >= largeRun {
		r = r.Within(p.From, p.To)
	}
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
