package migration

import (
	"context"

	"varve.dev/varve/engine/sample"
)

// Source is another archive.
type Source interface {
	// PVs returns the canonical names of the PVs to import, sorted.
	PVs() []string
	// Read passes what the source has of a PV to a sink: at least the samples with a time from since up
	// to, not including, until, in ns since 1970. It ends early with an error if ctx ends, if the sink
	// fails, or if the source cannot be read any more. It passes damage to Sink.Problem instead.
	//
	// Several goroutines may read different PVs at the same time.
	Read(ctx context.Context, pv string, since, until int64, to Sink) error
}

// Sink receives what a source has of a PV.
type Sink interface {
	// Samples receives a batch of samples of one type. The sink may change the run. It keeps nothing of it.
	// An empty batch only stores the marks.
	Samples(ctx context.Context, run *sample.Run) error
	// Mark receives a mark. It is stored with the next batch, or at the end of the PV.
	Mark(m sample.Mark)
	// Metadata receives the metadata that the PV has now, before any sample.
	Metadata(m *sample.Metadata)
	// Problem notes that something was not read. Place is a file or a table, and offset is a position
	// in the file, or 0.
	Problem(place string, offset int64, err error)
	// Note notes something that users should know although all samples were read.
	Note(text string)
	// Progress notes how many files, and how many bytes of them, are done.
	Progress(files int, bytes int64)
}
