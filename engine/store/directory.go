package store

import (
	"context"
	"iter"
)

// NameLister is implemented by stores that read the names in their directory faster than the entries.
type NameLister interface {
	// ChannelNames yields the names of the PVs in the directory, each once, in no particular order.
	ChannelNames(ctx context.Context) iter.Seq2[string, error]
}

// DirectoryReporter is implemented by stores that know of all changes of their directory, because no other process writes it.
type DirectoryReporter interface {
	// ReportDirectory makes the store call changed for each change of a directory entry from now on: after the change, and
	// before the method returns that made it. The change may have failed. changed must not block, and must not call the
	// store.
	ReportDirectory(changed func(pv string, deleted bool))
}

// DirectoryNames yields the names of the PVs in a directory.
func DirectoryNames(ctx context.Context, d interface {
	Channels(ctx context.Context) iter.Seq2[Channel, error]
}) iter.Seq2[string, error] {
	if l, ok := d.(NameLister); ok {
		return l.ChannelNames(ctx)
	}
	return func(yield func(string, error) bool) {
		for c, err := range d.Channels(ctx) {
			if !yield(c.PV, err) || err != nil {
				return
			}
		}
	}
}

// ChannelNames implements NameLister.
func (p *Pending) ChannelNames(ctx context.Context) iter.Seq2[string, error] {
	return sequence(p, func(st Store) iter.Seq2[string, error] { return DirectoryNames(ctx, st) })
}
