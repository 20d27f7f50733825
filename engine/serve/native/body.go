package native

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/table"
	"varve.dev/varve/engine/serve/value"
	"varve.dev/varve/engine/store"
)

// body encodes an answer in JSON while it is sent to the client.
type body struct {
	*stream.Answer
	some bool  // there are samples
	last int64 // the time of the last sample, in ns since 1970
	lost query.Losses
}

func newBody(w http.ResponseWriter, format table.Format) *body {
	return &body{Answer: stream.New(w, format.ContentType())}
}

// Write implements io.Writer, for tables.
func (b *body) Write(p []byte) (int, error) {
	b.Buf = append(b.Buf, p...)
	return len(p), b.FlushFull()
}

// closeTable ends a table. It says how many samples the table leaves out, and from what time on it
// lacks samples, if that is known only now.
func (b *body) closeTable(w *table.Writer, lost uint64) error {
	if b.SetLost(lost); lost > 0 {
		w.Note("lostSamples", strconv.FormatUint(lost, 10))
	}
	return w.Close()
}

// each writes a JSON object for each PV. write writes one, except for its closing brace. Several
// objects are in the list pvs of an outer one.
func (b *body) each(pvs []string, many bool, write func(i int, pv string) error) error {
	if many {
		b.Buf = append(b.Buf, `{"pvs":[`...)
	}
	for i, pv := range pvs {
		if i > 0 {
			b.Buf = append(b.Buf, "},\n"...)
		}
		if err := write(i, pv); err != nil {
			return fmt.Errorf("reading %s: %w", pv, err)
		}
	}
	if many {
		b.Buf = append(b.Buf, "}]"...)
	}
	b.Buf = append(b.Buf, "}\n"...)
	return nil
}

func (b *body) begin(pv string, meta *sample.Metadata, found bool) {
	b.Buf = value.AppendString(append(b.Buf, `{"pv":`...), pv)
	if found {
		text, err := json.Marshal(newMetadata(meta))
		if err != nil {
			panic("BUG: " + err.Error())
		}
		b.Buf = append(append(b.Buf, `,"metadata":`...), text...)
	}
}

// completeUntil writes that samples which were received after a time are missing.
func (b *body) completeUntil(until int64) {
	b.SetCompleteUntil(until)
	b.Buf = append(append(append(b.Buf, `,"completeUntil":"`...), stream.Until(until)...), '"')
}

// runs writes samples. It joins consecutive runs of one type.
func (b *body) runs(seq iter.Seq2[*sample.Run, error]) error {
	typ := sample.Unknown
	for r, err := range seq {
		if err != nil {
			return err
		}
		if r.Type != typ {
			if typ != sample.Unknown {
				b.Buf = append(b.Buf, "]},"...)
			}
			typ = r.Type
			b.Buf = append(append(append(b.Buf, `{"type":"`...), typ.String()...), `","samples":[`...)
		} else {
			b.Buf = append(b.Buf, ',')
		}
		b.run(r)
		if err := b.FlushFull(); err != nil {
			return err
		}
	}
	if typ != sample.Unknown {
		b.Buf = append(b.Buf, "]}"...)
	}
	return nil
}

func (b *body) run(r *sample.Run) {
	b.some, b.last = true, r.Times[r.Len()-1]
	for i, t := range r.Times {
		if i > 0 {
			b.Buf = append(b.Buf, ',')
		}
		b.Buf = append(b.Buf, "\n{\"time\":\""...)
		b.Buf = time.Unix(0, t).UTC().AppendFormat(b.Buf, time.RFC3339Nano)
		b.Buf = append(b.Buf, `","value":`...)
		b.Buf = value.Quoted.Append(b.Buf, r, i)
		b.Buf = append(append(b.Buf, `,"severity":"`...), r.Tags[i].Severity().String()...)
		b.Buf = append(append(b.Buf, `","status":"`...), r.Tags[i].StatusName()...)
		b.Buf = append(b.Buf, '"')
		if r.Tags[i]&sample.EngineClock != 0 {
			b.Buf = append(b.Buf, `,"engineClock":true`...)
		}
		b.Buf = append(b.Buf, '}')
	}
}

func (b *body) marks(seq iter.Seq2[store.PVMark, error]) error {
	b.Buf = append(b.Buf, '[')
	first := true
	for m, err := range seq {
		if err != nil {
			return err
		}
		text, err := json.Marshal(newMark(&m))
		if err != nil {
			panic("BUG: " + err.Error())
		}
		if !first {
			b.Buf = append(b.Buf, ',')
		}
		first = false
		b.Buf = append(b.Buf, text...)
		if err := b.FlushFull(); err != nil {
			return err
		}
	}
	b.Buf = append(b.Buf, ']')
	return nil
}
