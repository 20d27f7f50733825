package wire

import "time"

const (
	// The buffer has minBuffer bytes at first, because many IOCs send little. It grows to
	// maxBuffer while reads fill it. It becomes larger only for a frame that does not fit.
	minBuffer = 16 << 10
	maxBuffer = 256 << 10
	// keepReads is the number of reads for which the buffer of a frame that did not fit into
	// maxBuffer is kept, for the next such frame.
	keepReads = 64
)

// Buffer holds the bytes of a stream that were read but not used yet.
type Buffer struct {
	account *Account
	buf     []byte
	filled  int
	small   int // number of reads since a frame needed more than maxBuffer
}

// NewBuffer returns an empty Buffer, which draws its memory from an account.
func NewBuffer(a *Account) *Buffer { return &Buffer{account: a} }

// Free returns the free part of the buffer. The caller reads into it.
func (b *Buffer) Free() []byte {
	if b.buf == nil {
		b.buf = make([]byte, minBuffer)
	}
	return b.buf[b.filled:]
}

// Filled records that n bytes were read into the result of Free, and returns all bytes that
// were not used yet. They are valid until the next call of Used.
func (b *Buffer) Filled(n int) []byte {
	b.filled += n
	return b.buf[:b.filled]
}

// Besides is what a circuit holds besides its Buffer.
type Besides struct {
	Bytes      int
	Unfinished bool // it belongs to a message of which a part has arrived
}

// Used drops the first used bytes, and makes room for a frame of need bytes after them. The
// room grows as the bytes of the frame arrive. If all circuits together hold too much, Used
// waits, and returns how long it waited. It returns an error if the circuit ends.
func (b *Buffer) Used(used, need int, besides Besides) (waited time.Duration, err error) {
	rest := b.buf[used:b.filled]
	if b.small++; need > maxBuffer {
		b.small = 0
	}
	spare := b.account.budget.hasSpare()
	size := nextSize(len(b.buf), b.filled == len(b.buf), len(rest), need, spare && b.small < keepReads, spare)
	draw := max(size+besides.Bytes-minBuffer, 0)
	if waited, err = b.account.Draw(draw, len(rest) > 0 || besides.Unfinished); err != nil {
		return 0, err
	}
	if size != len(b.buf) {
		b.buf = make([]byte, size)
	}
	b.filled = copy(b.buf, rest)
	return waited, nil
}

// Trim returns a slice that the circuit uses to decode frames, or nil if the slice is large and
// its memory is needed elsewhere. While a circuit decodes a complete frame, the slice may hold
// as much as the frame in addition to what the Budget counts.
func (b *Buffer) Trim(scratch []byte) []byte {
	if cap(scratch) > maxBuffer && !b.account.budget.hasSpare() {
		return nil
	}
	return scratch
}

// nextSize returns the next size of a buffer that has rest bytes of a frame of need bytes. full
// means that the last read filled the buffer. keep means that the buffer may stay larger than
// maxBuffer, and spare means that it may be larger than the frame needs.
func nextSize(size int, full bool, rest, need int, keep, spare bool) int {
	switch {
	case need > size && rest == size: // the size doubles, so that twice the bytes that arrived are enough
		return min(2*size, max(need, maxBuffer))
	case need > size:
		return size
	case size > maxBuffer && need <= maxBuffer && !keep:
		size = maxBuffer
	case full && size < maxBuffer && spare:
		size *= 2
	}
	if !spare {
		for size > minBuffer && size/2 >= need {
			size /= 2
		}
	}
	return max(size, rest)
}
