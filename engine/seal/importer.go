package seal

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Importer stores samples of one PV that come from another archive. They become blocks at once,
// without a journal: the source keeps them until the caller knows that they are stored. Apart from
// that, they take the same way as samples of an engine: directory, blocks, carried-forward samples.
// Rollups follow when an engine captures the PV: its tiler reads the blocks from the first one on.
//
// No sealer may work on the PV's shard meanwhile, in this process or another one. The tiler of such
// a sealer reads each block once, in order of time. If it has read the blocks of January, and the
// Importer then adds samples to January, the tiles of January lack them.
//
// An Importer is for one goroutine.
type Importer struct {
	shard *Shard
	pv    string
	// known is true if the archive had samples of the PV before. Later buckets may then carry an
	// older sample forward.
	known bool
}

// NewImporter returns an Importer that writes blocks under a writer ID of its own. known says
// whether the archive may have samples of the PV. The PV stays on its tier. A PV that the archive
// does not know is kept forever, until an engine that captures it migrates it.
func NewImporter(pv string, shard int, known bool, cfg *Config) *Importer {
	of := *cfg.withoutState()
	of.Retention = func(string) (store.Retention, bool) { return store.Retention{}, false }
	j := journal.NewShardJournal(shard, store.NewWriter(), &journal.Config{Store: nil, Memory: cfg.Memory})
	s := NewShard(j, &of)
	s.importing = true
	return &Importer{shard: s, pv: pv, known: known}
}

// withoutState returns a copy of the configuration. The state that sealers of an engine share stays
// behind.
func (c *Config) withoutState() *Config {
	return &Config{
		Store: c.Store, Every: c.Every, Memory: c.Memory, Slots: c.Slots, Last: c.Last, Cutoff: c.Cutoff,
		Damaged: c.Damaged, Clock: c.Clock, Metrics: c.Metrics, Log: c.Log,
	}
}

// ErrRefused means that the store has refused samples for a minute, or that its disk is full.
var ErrRefused = errors.New("the store refuses the samples")

// ErrRollups means that the archive has rollups of the PV, which an import does not bring up to date.
var ErrRollups = errors.New("the archive has rollups of the PV already; import it into an archive that does not")

// Store stores samples. It returns when they are durable, with the number of samples that are older
// than their retention and were left out. After an error, some of the samples may be stored: the
// caller leaves those out when it repeats Store.
func (m *Importer) Store(ctx context.Context, run *sample.Run) (expired int, err error) {
	s := m.shard
	s.round++
	s.tiles.BeginCheckpoint()
	if err := m.prepare(ctx); err != nil {
		return 0, fmt.Errorf("importing %s: %w", m.pv, err)
	}
	out, err := s.write(ctx, []part{{m.pv, run}}, func(_ string, n int) { expired += n })
	switch {
	case err != nil:
		return 0, fmt.Errorf("importing %s: %w", m.pv, err)
	case out.refused[m.pv]:
		return 0, fmt.Errorf("importing %s: %w", m.pv, ErrRefused)
	}
	return expired, nil
}

// prepare refuses a PV with rollups. Before the first write it finds the buckets that have blocks: those
// that begin after an imported sample must carry it forward. As nobody else writes, the importer
// knows the buckets from then on, and does not look into the empty ones again.
func (m *Importer) prepare(ctx context.Context) error {
	s := m.shard
	var c store.Channel
	if m.known {
		var err error
		if c, _, err = s.cfg.Store.Channel(ctx, m.pv); err != nil {
			return err
		}
		if len(c.Levels) > 0 {
			return ErrRollups
		}
	}
	if s.series[m.pv] != nil {
		return nil
	}
	ser := s.newSeries(m.pv)
	ser.filled = map[store.Bucket]bool{}
	now := s.clock.Now().Now
	for b := range store.InUse(c.Starts, s.clock.Earliest(), now) {
		_, found, err := s.cfg.Store.LastBlock(ctx, m.pv, b, b.End()-1)
		if err != nil {
			return err
		}
		if found {
			ser.filled[b] = true
			ser.begun = max(ser.begun, b.Start())
		}
	}
	s.series[m.pv] = ser
	m.known = true // this import adds buckets
	return nil
}

// Close releases the memory of the PV.
func (m *Importer) Close() { m.shard.forget(m.pv) }
