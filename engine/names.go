package engine

import (
	"varve.dev/varve/engine/names"
)

// Names returns the names of the PVs of the archive, for readers.
func (e *Engine) Names() *names.Book { return e.book }

// applyNames makes the store know the former names and aliases of the channels of an assignment.
func (e *Engine) applyNames(a Assignment) {
	named := map[string]names.Fact{}
	for _, s := range a {
		for i := range s.Channels {
			if n := s.Channels[i].Names; n != nil {
				pv := s.Channels[i].PV
				named[pv] = names.Fact{PV: pv, Former: n.Former, Aliases: n.Aliases}
			}
		}
	}
	e.names.Set(named, func(pv string) bool {
		_, captured := e.capture.Shard(pv)
		return captured
	})
}
