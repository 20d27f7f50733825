package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
	"varve.dev/varve/engine/store"
)

// flushBytes is how much is gathered before it is sent.
const flushBytes = 64 << 10

// finish ends an answer that failed: with an error while nothing is sent, or else
// by breaking the connection, so that the client does not take it for complete.
func (h *Handler) finish(w http.ResponseWriter, r *http.Request, b *body, err error) {
	switch {
	case err == nil:
	case !b.sent:
		h.fail(w, r, err)
	default:
		if r.Context().Err() == nil && !errors.Is(err, errSending) {
			h.Log.Error("an answer was cut short", "path", r.URL.Path, "err", err)
		}
		panic(http.ErrAbortHandler)
	}
}

// errSending says that the client does not take the answer.
var errSending = errors.New("sending an answer")

// body is an answer on its way to the client.
type body struct {
	w    http.ResponseWriter
	buf  []byte
	sent bool
}

func (b *body) flush() error {
	if !b.sent {
		b.w.Header().Set("Content-Type", "application/json")
		b.sent = true
	}
	if _, err := b.w.Write(b.buf); err != nil {
		return fmt.Errorf("%w: %w", errSending, err)
	}
	b.buf = b.buf[:0]
	return nil
}

func (b *body) spill() error {
	if len(b.buf) < flushBytes {
		return nil
	}
	return b.flush()
}

func (b *body) begin(pv string, meta *sample.Metadata, found bool) {
	b.buf = value.AppendString(append(b.buf, `{"pv":`...), pv)
	if found {
		text, err := json.Marshal(newMetadata(meta))
		if err != nil {
			panic("BUG: " + err.Error())
		}
		b.buf = append(append(b.buf, `,"metadata":`...), text...)
	}
}

// runs writes samples; consecutive runs of one type become one.
func (b *body) runs(seq iter.Seq2[*sample.Run, error]) error {
	typ := sample.Unknown
	for r, err := range seq {
		if err != nil {
			return err
		}
		if r.Type != typ {
			if typ != sample.Unknown {
				b.buf = append(b.buf, "]},"...)
			}
			typ = r.Type
			b.buf = append(append(append(b.buf, `{"type":"`...), typ.String()...), `","samples":[`...)
		} else {
			b.buf = append(b.buf, ',')
		}
		b.run(r)
		if err := b.spill(); err != nil {
			return err
		}
	}
	if typ != sample.Unknown {
		b.buf = append(b.buf, "]}"...)
	}
	return nil
}

func (b *body) run(r *sample.Run) {
	for i, t := range r.Times {
		if i > 0 {
			b.buf = append(b.buf, ',')
		}
		b.buf = append(b.buf, "\n{\"time\":\""...)
		b.buf = time.Unix(0, t).UTC().AppendFormat(b.buf, time.RFC3339Nano)
		b.buf = append(b.buf, `","value":`...)
		b.buf = value.Quoted.Append(b.buf, r, i)
		b.buf = append(append(b.buf, `,"severity":"`...), r.Tags[i].Severity().String()...)
		b.buf = append(append(b.buf, `","status":"`...), r.Tags[i].StatusName()...)
		b.buf = append(b.buf, `"}`...)
	}
}

func (b *body) marks(seq iter.Seq2[store.PVMark, error]) error {
	b.buf = append(b.buf, '[')
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
			b.buf = append(b.buf, ',')
		}
		first = false
		b.buf = append(b.buf, text...)
		if err := b.spill(); err != nil {
			return err
		}
	}
	b.buf = append(b.buf, ']')
	return nil
}
