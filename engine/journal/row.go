package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/klauspost/compress/s2"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/checksum"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// rowVersion is the first byte of every index. docs/format/journal.md draws a row. The index and
// the body of a row of this version end with a checksum, those of firstRowVersion do not.
const (
	rowVersion      = 2
	firstRowVersion = 1
)

// ErrCorrupt is returned for bytes that no writer has written.
var ErrCorrupt = errors.New("damaged journal row")

// ErrVersion is wrapped by the error of a row that a later version of the program wrote.
var ErrVersion = errors.New("not known to this program")

// rowEncoder builds the index and the body of a row. Runs must be added in the order of their
// PVs' names, because the index stores only the part of a name that differs from the previous
// name.
type rowEncoder struct {
	index, body    []byte
	count, samples int
	last           string
}

// reset begins a row of samples that were flushed at a time, in ns since 1970.
func (e *rowEncoder) reset(flushed int64) {
	e.index = binary.AppendVarint(append(e.index[:0], rowVersion), flushed)
	e.body, e.count, e.samples, e.last = e.body[:0], 0, 0, ""
}

func (e *rowEncoder) add(pv string, r *sample.Run) {
	shared := 0
	for shared < min(len(pv), len(e.last)) && pv[shared] == e.last[shared] {
		shared++
	}
	before := len(e.body)
	e.body = block.Append(e.body, r)
	e.index = binary.AppendUvarint(e.index, uint64(shared))
	e.index = binary.AppendUvarint(e.index, uint64(len(pv)-shared))
	e.index = append(e.index, pv[shared:]...)
	e.index = binary.AppendUvarint(e.index, uint64(len(e.body)-before))
	e.count++
	e.samples += r.Len()
	e.last = pv
}

// keepBody is the most memory that an encoder keeps for the next row.
const keepBody = 1 << 20

// finish returns copies of the index and the compressed body.
func (e *rowEncoder) finish() (index, blob []byte) {
	index = checksum.Append(e.index, 0)
	blob = s2.Encode(make([]byte, s2.MaxEncodedLen(len(e.body))+checksum.Size), e.body)
	blob = checksum.Append(blob, 0, index...) // a body belongs to one index
	index = slices.Clone(index)
	if cap(e.body) > keepBody {
		e.body = nil
	}
	return index, blob
}

// entry locates the run of a PV in the body of a row.
type entry struct {
	pv       []byte // valid until the next entry
	from, to int
}

// entries decodes an index.
func entries(index []byte) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		_, rest, err := flushTime(index)
		name, at := make([]byte, 0, pvname.MaxLen), 0
		for err == nil && len(rest) > 0 {
			var shared, size, length uint64
			shared, rest, err = uvarint(rest, err)
			size, rest, err = uvarint(rest, err)
			if err != nil || shared > uint64(len(name)) || size > uint64(len(rest)) || shared+size > pvname.MaxLen {
				break
			}
			name = append(name[:shared], rest[:size]...)
			if length, rest, err = uvarint(rest[size:], err); err != nil || length > block.MaxBytes {
				break
			}
			if !yield(entry{name, at, at + int(length)}, nil) {
				return
			}
			at += int(length)
		}
		switch {
		case errors.Is(err, ErrVersion):
			yield(entry{}, err)
		case err != nil || len(rest) > 0:
			yield(entry{}, ErrCorrupt)
		}
	}
}

func uvarint(src []byte, err error) (uint64, []byte, error) {
	v, w := binary.Uvarint(src)
	if err != nil || w <= 0 {
		return 0, nil, cmp.Or(err, ErrCorrupt)
	}
	return v, src[w:], nil
}

func flushTime(index []byte) (int64, []byte, error) {
	if len(index) == 0 {
		return 0, nil, ErrCorrupt
	}
	switch index[0] {
	case firstRowVersion:
	case rowVersion:
		var err error
		if index, err = checksum.Strip(index); err != nil {
			return 0, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	default:
		// The checksum covers the version: if it is right with this one, the version is damaged.
		if _, err := checksum.Strip(append([]byte{rowVersion}, index[1:]...)); err == nil {
			return 0, nil, fmt.Errorf("%w: its version is damaged", ErrCorrupt)
		}
		return 0, nil, fmt.Errorf("journal row format version %d is %w", index[0], ErrVersion)
	}
	t, w := binary.Varint(index[1:])
	if w <= 0 {
		return 0, nil, ErrCorrupt
	}
	return t, index[1+w:], nil
}

// FlushTime returns when a row was built, in ns since 1970: the earliest time that it may have been, by what
// the writer knew about its clock.
func FlushTime(row store.JournalRow) (int64, error) {
	t, _, err := flushTime(row.Index)
	return t, err
}

// PVRun is a run of samples of a PV.
type PVRun struct {
	PV  string
	Run *sample.Run
}

// Decode returns the runs of all PVs in a row, sorted by name. A PV whose type changed
// within the row has several runs, in order.
func Decode(row store.JournalRow) ([]PVRun, error) { return decode(row, "") }

// Find returns the runs of a PV in a row, in order, or none if the row does not have it.
func Find(row store.JournalRow, pv string) ([]*sample.Run, error) {
	found, err := decode(row, pv)
	runs := make([]*sample.Run, len(found))
	for i := range found {
		runs[i] = found[i].Run
	}
	return runs, err
}

// decode returns all runs of a row, or only those of one PV.
func decode(row store.JournalRow, only string) (out []PVRun, err error) {
	err = blobs(row, only, func(pv string, blob []byte) error {
		run := new(sample.Run)
		out = append(out, PVRun{pv, run})
		return block.Decode(run, blob)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Counts calls f with the number of samples of each run in a row.
func Counts(row store.JournalRow, f func(pv string, samples int)) error {
	return blobs(row, "", func(pv string, blob []byte) error {
		_, n, err := block.Peek(blob)
		if err == nil {
			f(pv, n)
		}
		return err
	})
}

// Holds reports whether the row with this index has samples of a PV.
func Holds(index []byte, pv string) (bool, error) {
	for e, err := range entries(index) {
		if err != nil || string(e.pv) >= pv { // entries are sorted by name
			return err == nil && string(e.pv) == pv, err
		}
	}
	return false, nil
}

// Names returns the PVs in the row with this index. After an error it returns those before the
// damaged part of the index.
func Names(index []byte) (pvs []string, err error) {
	for e, err := range entries(index) {
		if err != nil {
			return pvs, err
		}
		pvs = append(pvs, string(e.pv))
	}
	return pvs, nil
}

// blobs calls f with the encoded runs of a row, or only with those of one PV.
func blobs(row store.JournalRow, only string, f func(pv string, blob []byte) error) error {
	var body []byte
	for e, err := range entries(row.Index) {
		if err != nil {
			return fmt.Errorf("reading journal row %d of writer %v: %w", row.At, row.Writer, err)
		}
		if only != "" && string(e.pv) != only {
			continue
		}
		if body == nil {
			if body, err = decompress(&row); err != nil {
				return err
			}
		}
		if e.to > len(body) {
			return ErrCorrupt
		}
		if err := f(string(e.pv), body[e.from:e.to]); err != nil {
			return fmt.Errorf("reading %s in a journal row: %w", e.pv, err)
		}
	}
	return nil
}

// decompress verifies and decompresses the body of a row whose index is valid.
func decompress(row *store.JournalRow) (_ []byte, err error) {
	if row.Damage != nil {
		return nil, row.Damage
	}
	blob := row.Blob
	if row.Index[0] == rowVersion {
		if blob, err = checksum.Strip(blob, row.Index...); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	if n, err := s2.DecodedLen(blob); err != nil || n > block.MaxBytes {
		return nil, ErrCorrupt
	}
	body, err := s2.Decode(nil, blob)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return body, nil
}

// EncodeRow returns the index and the blob of a row with runs of samples. It sorts the runs by PV, and keeps the order of
// those of one PV. The row was built at the time at, in ns since 1970.
func EncodeRow(at int64, runs []PVRun) (index, blob []byte) {
	slices.SortStableFunc(runs, func(a, b PVRun) int { return cmp.Compare(a.PV, b.PV) })
	var e rowEncoder
	e.reset(at)
	for _, r := range runs {
		e.add(r.PV, r.Run)
	}
	return e.finish()
}
