package jsonaccess

import (
	"iter"

	"varve.dev/varve/engine/store"
)

// history follows the metadata of a PV while its samples are written, in order of time. It
// encodes the metadata once for each change.
type history struct {
	next  func() (store.PVMetadata, error, bool)
	stop  func()
	ahead store.PVMetadata // begins later
	more  bool             // ahead is valid

	// numeric and states are the metadata in force, as members of an item. numeric is empty if
	// the archive has no metadata of the PV.
	numeric, states []byte
}

// newHistory returns a history that begins with the first entry. The caller calls stop at the end.
func newHistory(entries iter.Seq2[store.PVMetadata, error]) (*history, error) {
	h := &history{states: appendStates(nil, nil)}
	h.next, h.stop = iter.Pull2(entries)
	err := h.read()
	if err == nil && h.more {
		err = h.advance()
	}
	return h, err
}

// at makes the metadata at a time the ones in force. The times of its calls do not decrease.
func (h *history) at(t int64) error {
	for h.more && h.ahead.Time <= t {
		if err := h.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) advance() error {
	h.numeric = appendNumeric(h.numeric[:0], &h.ahead.Metadata)
	h.states = appendStates(h.states[:0], h.ahead.Labels)
	return h.read()
}

func (h *history) read() (err error) {
	h.ahead, err, h.more = h.next()
	return err
}
