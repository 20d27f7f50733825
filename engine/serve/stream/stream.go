// Package stream sends an HTTP answer while it is still being encoded. The APIs
// append to a buffer, and the buffer goes to the client whenever it is full:
//
//	encoder ──append──▶ Answer.Buf ──FlushFull, 64 KiB──▶ client
//	                        │
//	                     Finish(err)
//	                        ├─ no error                 ──▶ send what is left
//	                        ├─ error, nothing sent yet  ──▶ fail: an error answer with a status code
//	                        └─ error after the first byte ─▶ log it, abort the connection
//
// With the first byte, the status code 200 is sent. After that, the only way to show the
// client that the answer is incomplete is to abort the connection.
package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"varve.dev/varve/engine/query"
)

// LostSamples is the header that says how many samples the answer leaves out because the blocks that
// hold them are damaged. An answer without it leaves out none. It is a trailer, unless the whole
// answer fits into the buffer.
const LostSamples = "Varve-Lost-Samples"

// flushBytes is the size at which the buffer is full.
const flushBytes = 64 << 10

// CompleteUntil is the header that says up to which time an answer is complete. An answer without
// it is complete. If the time becomes known after the first byte, the header is a trailer.
const CompleteUntil = "Varve-Complete-Until"

// NotKnown stands for a time up to which an answer is complete that is not known. The newest samples may be
// missing, and nothing says how many.
const NotKnown = "unknown"

// Until returns the text of a time up to which an answer is complete, for clients. The time is in ns since
// 1970. If it is query.Earliest, no time is known: an engine that did not answer has not claimed its shard
// yet.
func Until(ns int64) string {
	if ns <= query.Earliest {
		return NotKnown
	}
	return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
}

// errSending marks errors of the connection to the client.
var errSending = errors.New("sending the answer")

// Answer is the body of one answer. It holds only the part that is not sent yet.
type Answer struct {
	// Buf is the part that is encoded and not sent yet. Encoders append to it.
	Buf []byte

	w           http.ResponseWriter
	contentType string
	begun       bool // the client has received the first byte, or may have
	until       int64
	lost        uint64
}

// New returns an empty answer with the given content type.
func New(w http.ResponseWriter, contentType string) *Answer {
	return &Answer{w: w, contentType: contentType, until: math.MaxInt64}
}

// SetCompleteUntil tells the client that the samples of a PV are complete only up to a time in ns
// since 1970. If the samples of several PVs lag, the client gets the earliest time.
func (a *Answer) SetCompleteUntil(until int64) {
	if until >= a.until {
		return
	}
	a.until = until
	key := CompleteUntil
	if a.begun {
		key = http.TrailerPrefix + key
	}
	a.w.Header().Set(key, Until(until))
}

// CompleteUntil returns the time that SetCompleteUntil has set. It returns false if there is none.
func (a *Answer) CompleteUntil() (until int64, lags bool) { return a.until, a.until != math.MaxInt64 }

// SetLost tells the client how many samples the answer leaves out in all.
func (a *Answer) SetLost(samples uint64) {
	if a.lost = samples; samples == 0 {
		return
	}
	key := LostSamples
	if a.begun {
		key = http.TrailerPrefix + key
	}
	a.w.Header().Set(key, strconv.FormatUint(samples, 10))
}

// FlushFull sends the buffer if it is full. Encoders call it after each piece that they
// append. They return its error, and the caller passes the error to Finish.
func (a *Answer) FlushFull() error {
	if len(a.Buf) < flushBytes {
		return nil
	}
	return a.flush()
}

func (a *Answer) flush() error {
	if !a.begun {
		a.w.Header().Set("Content-Type", a.contentType)
		a.begun = true
	}
	if _, err := a.w.Write(a.Buf); err != nil {
		return fmt.Errorf("%w: %w", errSending, err)
	}
	a.Buf = a.Buf[:0]
	return nil
}

// Finish ends the answer. Without an error it sends the rest of the buffer. If an error occurs
// before the first byte is sent, Finish passes it to fail, which writes an error answer. Any
// other error aborts the connection: Finish panics with http.ErrAbortHandler. Finish logs the
// error unless the client caused it by disconnecting.
func (a *Answer) Finish(r *http.Request, log *slog.Logger, err error, fail func(error)) {
	if err == nil {
		err = a.flush()
	}
	switch {
	case err == nil && a.lost > 0:
		log.Warn("an answer lacks samples, because blocks are damaged; run `varve store check`", "path", r.URL.Path, "samples", a.lost)
	case err == nil:
	case !a.begun:
		a.w.Header().Del(CompleteUntil)
		a.w.Header().Del(LostSamples)
		fail(err)
	default:
		if r.Context().Err() == nil && !errors.Is(err, errSending) {
			log.Error("aborted an answer after its first byte", "path", r.URL.Path, "err", err)
		}
		panic(http.ErrAbortHandler)
	}
}
