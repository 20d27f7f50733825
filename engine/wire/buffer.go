package wire

const (
	// The buffer starts small, as many IOCs send little, and grows while reads fill
	// it. It is larger only for a frame that does not fit.
	minBuffer = 16 << 10
	maxBuffer = 256 << 10
)

// Buffer holds what was read of a stream and is not yet used. The zero value is
// empty.
type Buffer struct {
	buf    []byte
	filled int
}

// Free returns where to read to.
func (b *Buffer) Free() []byte {
	if b.buf == nil {
		b.buf = make([]byte, minBuffer)
	}
	return b.buf[b.filled:]
}

// Filled notes that n bytes were read to Free, and returns all that is not yet
// used, valid until Used.
func (b *Buffer) Filled(n int) []byte {
	b.filled += n
	return b.buf[:b.filled]
}

// Used drops the first used bytes, and makes room for a frame of need bytes after
// them.
func (b *Buffer) Used(used, need int) {
	rest := b.buf[used:b.filled]
	size := len(b.buf)
	if b.filled == size && size < maxBuffer {
		size *= 2
	}
	if size > maxBuffer && need <= maxBuffer {
		size = maxBuffer // a large frame's memory goes back
	}
	if size = max(size, need, len(rest)); size != len(b.buf) {
		b.buf = make([]byte, size)
	}
	b.filled = copy(b.buf, rest)
}
