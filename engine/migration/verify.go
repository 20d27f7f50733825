package migration

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Month compares the samples of a month, in UTC, in the source with those that the archive returns.
type Month struct {
	Month string `json:"month"` // such as 2026-11
	// Source and Archive are equal if the archive returns every sample of the source, with the same
	// time, alarm and value. The archive may have more samples; they do not count.
	Source  Digest `json:"source"`
	Archive Digest `json:"archive"`
}

// Digest is a number of samples and a hash of them, which does not depend on their order.
type Digest struct {
	Count uint64 `json:"count"`
	Hash  Hash   `json:"hash"`
}

// Hash is a sum of the hashes of samples.
type Hash uint64

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }

// add counts a sample of a type. buf is scratch memory, which add returns.
func (d *Digest) add(t sample.Type, s *sample.Sample, buf []byte) []byte {
	buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(s.Time))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(s.Tag&^sample.CarriedForward))
	buf = append(buf, byte(t))
	if t.Fixed() {
		buf = binary.LittleEndian.AppendUint64(buf, s.Word)
	}
	buf = append(buf, s.Bytes...)
	d.Count++
	d.Hash += Hash(xxhash.Sum64(buf))
	return buf
}

// Verify reads a PV of a source again, and compares its samples with those that a reader of the
// archive gets. Report.Stored stays 0, and Report.Present is the number of samples that the archive
// has. Samples that the archive must not have, because they are older than its deletion cutoff or the
// PV's retention, in a deleted range, or outside of the times to import, are left out.
func (m *Importer) Verify(ctx context.Context, src Source, pv string) (*Report, error) {
	if m.opts.Store == nil {
		return nil, errors.New("there is no archive to verify")
	}
	o := &one{Importer: m, name: pvname.Canonical(pv), report: &Report{PV: pvname.Canonical(pv)}, last: math.MinInt64}
	v := &verification{one: o, months: map[string]*Month{}, kept: math.MinInt64}
	o.use = v.compare
	o.verifying = true
	c, _, err := m.opts.Store.Channel(ctx, o.name)
	c.LeaveOutFuture(layout.MaxDeleted(m.now()))
	o.deleted = c.Mask()
	if tier := layout.LastTier(c.Starts); tier != store.Forever {
		v.kept = time.Now().Add(-tier.Keep()).UnixNano()
	}
	if err == nil {
		err = o.read(ctx, src)
	}
	for _, key := range slices.Sorted(maps.Keys(v.months)) {
		o.report.Months = append(o.report.Months, *v.months[key])
	}
	if err != nil {
		o.report.Error = err.Error()
	}
	return o.report, err
}

// verification is the comparison of one PV.
type verification struct {
	*one
	months map[string]*Month
	kept   int64 // samples before this time may have expired, in ns since 1970
	end    int64 // of the month of the last sample, in ns since 1970
	begin  int64
	month  *Month // of the last sample
	buf    []byte
}

// compare compares the samples of a sorted run with those that the archive has.
func (v *verification) compare(ctx context.Context, run *sample.Run) error {
	total := run.Len()
	run = v.deleted.Keep(cut(run, v.kept, math.MaxInt64))
	if v.report.Expired += uint64(total - run.Len()); run.Len() == 0 {
		return nil
	}
	for i := range run.Len() {
		s := run.At(i)
		v.buf = v.monthOf(s.Time).Source.add(run.Type, &s, v.buf)
	}
	has, err := v.reader.Read(ctx, v.name, run.Times[0], run.Times[run.Len()-1], query.Options{Inside: true})
	if errors.Is(err, query.ErrUnknownPV) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", v.name, err)
	}
	present, next := make([]bool, run.Len()), 0
	for r, err := range has.All {
		if err != nil {
			return fmt.Errorf("reading %s: %w", v.name, err)
		}
		if r.Type != run.Type {
			continue
		}
		next = markPresent(present, run, r, next, func(s *sample.Sample) {
			v.report.Present++
			v.buf = v.monthOf(s.Time).Archive.add(r.Type, s, v.buf)
		})
	}
	return nil
}

// monthOf returns the month of a time in ns since 1970.
func (v *verification) monthOf(t int64) *Month {
	if v.month != nil && t >= v.begin && t < v.end {
		return v.month
	}
	at := time.Unix(0, t).UTC()
	first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	key := first.Format("2006-01")
	if v.months[key] == nil {
		v.months[key] = &Month{Month: key}
	}
	v.month, v.begin, v.end = v.months[key], first.UnixNano(), first.AddDate(0, 1, 0).UnixNano()
	return v.month
}

// Differs returns the months in which the archive lacks samples of the source.
func (r *Report) Differs() (out []Month) {
	for _, m := range r.Months {
		if m.Source != m.Archive {
			out = append(out, m)
		}
	}
	return out
}
