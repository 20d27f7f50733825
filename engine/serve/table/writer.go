package table

import "io"

const (
	// batchRows and batchBytes are the sizes at which a batch is full.
	batchRows  = 8192
	batchBytes = 1 << 20
)

// encoder encodes batches in one format.
type encoder interface {
	write(b *Batch) error
	// note adds a fact after the first row. A format without a place for it ignores it.
	note(n Note)
	end() error
}

// Writer writes a table. It is not safe for concurrent use.
type Writer struct {
	// Batch has the rows that are not written yet. The producer appends rows to all of its
	// columns, and then calls FlushFull.
	Batch Batch
	enc   encoder
}

// NewWriter begins a table. An error comes from out.
func NewWriter(f Format, out io.Writer, s *Schema) (*Writer, error) {
	w := &Writer{Batch: Batch{Columns: make([]Vector, len(s.Columns))}}
	for i, c := range s.Columns {
		w.Batch.Columns[i].column = c
	}
	var err error
	switch f {
	case CSV:
		w.enc, err = newCSV(out, s)
	case Arrow:
		w.enc = newArrow(out, s)
	case Parquet:
		w.enc = newParquet(out, s)
	default:
		w.enc, err = newJSON(out, s)
	}
	return w, err
}

// FlushFull writes the batch if it is full.
func (w *Writer) FlushFull() error {
	if w.Batch.Rows() < batchRows && w.Batch.bytes() < batchBytes {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	if w.Batch.Rows() == 0 {
		return nil
	}
	err := w.enc.write(&w.Batch)
	for i := range w.Batch.Columns {
		w.Batch.Columns[i].reset()
	}
	return err
}

// Note adds a fact that was not known before the first row. JSON and Parquet have a place for it.
func (w *Writer) Note(key, value string) { w.enc.note(Note{key, value}) }

// Close writes the remaining rows and ends the table. The table is incomplete if Close is not
// called, or returns an error.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.enc.end()
}
