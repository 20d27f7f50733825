package store

import (
	"context"
	"iter"

	"varve.dev/varve/engine/sample"
)

// PVMark is a mark of a PV, as written by one writer.
type PVMark struct {
	PV     string
	Writer WriterID
	sample.Mark
}

// PVMetadata is the metadata that a PV had from Time on.
type PVMetadata struct {
	PV   string
	Time int64
	sample.Metadata
}

// Marks is the part of a Store that holds the marks and the metadata history of PVs.
type Marks interface {
	// PutMarks writes marks. It stores the bounds of each mark in order, as sample.Mark.Ordered does.
	PutMarks(ctx context.Context, marks ...PVMark) error
	// Marks yields the marks of a PV with Time in [from, to], by time. An earlier version stored some
	// losses with an end before their time. They are selected by their later bound, and have Time and End
	// in order.
	Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[PVMark, error]
	// LatestMarks yields the marks of a PV with Time at or before a time, latest first. A PV
	// may have many marks, so the caller ends the sequence once it knows enough.
	LatestMarks(ctx context.Context, pv string, at int64) iter.Seq2[PVMark, error]

	// PutMetadata writes an entry of a PV's metadata history.
	PutMetadata(ctx context.Context, m PVMetadata) error
	// MetadataAt returns the metadata that is valid at a time: the latest entry at or before
	// the time, or the first entry if there is no earlier one.
	MetadataAt(ctx context.Context, pv string, at int64) (m PVMetadata, found bool, err error)
	// Metadata yields the entries of a PV's metadata history with Time in
	// [from, to], by time.
	Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[PVMetadata, error]
}
