package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrSilent means that a server has sent nothing for too long.
var ErrSilent = errors.New("the server sent nothing")

// body reads an answer within bounds: of its size, and of the time that each read waits.
type body struct {
	in     io.Reader
	cancel context.CancelCauseFunc // ends the request
	idle   time.Duration
	max    int64 // bytes
	left   int64 // bytes that may follow
	timer  *time.Timer
}

// newBody returns a bounded reader of an answer. The caller calls stop when it has read enough.
func newBody(in io.Reader, cancel context.CancelCauseFunc, idle time.Duration, bytes int64) *body {
	b := &body{in: in, cancel: cancel, idle: idle, max: bytes, left: bytes}
	b.timer = time.AfterFunc(idle, b.expire)
	b.timer.Stop()
	return b
}

// expire ends the request, which makes the waiting read return.
func (b *body) expire() { b.cancel(fmt.Errorf("%w for %v", ErrSilent, b.idle)) }

// Read implements io.Reader. The time between two reads does not count: the consumer may be slow.
func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes; choose a shorter range", b.max)
	}
	b.timer.Reset(b.idle)
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	b.timer.Stop()
	b.left -= int64(n)
	return n, err
}
