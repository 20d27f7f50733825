package agent

import (
	"context"
	"fmt"
	"time"

	"varve.dev/varve/cluster/mirror"
)

// deleteData deletes the data of the PVs in the deletions of a shard's spec. Deleting data
// twice does no harm, so an interrupted attempt is repeated from the start.
func (a *Agent) deleteData(ctx context.Context, index int) error {
	a.mu.Lock()
	var names []string
	s := a.shards[index]
	if s != nil {
		names = s.pendingDeletions(a.cfg.Name, time.Now())
	}
	a.mu.Unlock()
	var failed error
	for _, name := range names {
		if err := a.deleteList(ctx, index, name); err != nil {
			failed = err
			a.log.Error("deleting data failed; the agent retries", "shard", index, "list", name, "err", err)
			continue
		}
		a.mu.Lock()
		s.deleted[name] = true
		a.mu.Unlock()
	}
	if s != nil {
		a.mu.Lock()
		s.deletionStuck = failed != nil
		a.mu.Unlock()
		a.poke()
	}
	return failed
}

// deleteList deletes the data of the PVs of a list.
func (a *Agent) deleteList(ctx context.Context, index int, name string) error {
	data, err := a.readDeletion(ctx, name)
	if err != nil {
		return fmt.Errorf("reading the list of PVs to delete: %w", err)
	}
	l, err := decodeList(data)
	if err != nil {
		return fmt.Errorf("decoding the list of PVs to delete: %w", err)
	}
	pvs := make([]string, len(l.channels))
	for i := range l.channels {
		pvs[i] = l.channels[i].PV
	}
	if err := a.cfg.Engine.Delete(ctx, index, pvs); err != nil {
		return fmt.Errorf("deleting the data of %d PVs: %w", len(pvs), err)
	}
	a.log.Info("data deleted", "shard", index, "list", name, "pvs", len(pvs))
	return nil
}

func (a *Agent) readDeletion(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	return mirror.ReadList(ctx, a.cfg.Client, a.cfg.Namespace, name)
}
