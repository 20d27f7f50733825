package migration

import (
	"context"
	"fmt"
	"strconv"

	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// marksWriter is the writer of all imported marks. Marks of equal times and kinds from equal writers
// are one mark, so an import that is repeated adds none.
var marksWriter = store.WriterID{'i', 'm', 'p', 'o', 'r', 't', 0x40, 0, 0x80}

// Fields of the Archiver Appliance, which hold seconds since 1970.
const (
	lostAt     = "cnxlostepsecs"
	regainedAt = "cnxregainedepsecs"
)

// change notes the marks that the fields of a sample stand for: when the Appliance lost the
// connection to the PV before the sample, and when it connected again.
func (o *one) change(c pbfile.Change) {
	for _, f := range c.Fields {
		kind := sample.Disconnected
		switch f.Name {
		case lostAt:
		case regainedAt:
			kind = sample.Connected
		default:
			continue
		}
		at, err := strconv.ParseInt(f.Value, 10, 64)
		if err != nil || at <= 0 || at > c.Time/1e9 { // 0 stands for no connection before
			continue
		}
		if at*1e9 < o.opts.Since || at*1e9 >= o.opts.Until {
			continue
		}
		o.marks = append(o.marks, store.PVMark{
			PV: o.name, Writer: marksWriter, Mark: sample.Mark{Time: at * 1e9, Kind: kind, Text: "recorded by the Archiver Appliance"},
		})
	}
}

// putMarks stores the marks that were noted.
func (o *one) putMarks(ctx context.Context) error {
	marks := o.marks
	o.marks = o.marks[:0]
	if len(marks) == 0 || o.opts.DryRun || o.verifying {
		return nil
	}
	if err := o.opts.Store.PutMarks(ctx, marks...); err != nil {
		return fmt.Errorf("writing marks of %s: %w", o.name, err)
	}
	return nil
}
