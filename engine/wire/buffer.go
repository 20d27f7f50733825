package wire

const (
	// The buffer has minBuffer bytes at first, because many IOCs send little. It grows to
	// maxBuffer while reads fill it. It becomes larger only for a frame that does not fit.
	minBuffer = 16 << 10
	maxBuffer = 256 << 10
)

// Buffer holds the bytes of a stream that were read but not used yet. The zero value is empty.
type Buffer struct {
	buf    []byte
	filled int
}

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

// Used drops the first used bytes, and makes room for a frame of need bytes after them.
func (b *Buffer) Used(used, need int) {
	rest := b.buf[used:b.filled]
	size := len(b.buf)
	if b.filled == size && size < maxBuffer {
		size *= 2
	}
	if size > maxBuffer && need <= maxBuffer {
		size = maxBuffer // frees the memory of a large frame
	}
	if size = max(size, need, len(rest)); size != len(b.buf) {
		b.buf = make([]byte, size)
	}
	b.filled = copy(b.buf, rest)
}
