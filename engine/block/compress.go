package block

import (
	"runtime"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"varve.dev/varve/engine/sample"
)

// Compression methods for bytes.
const (
	plainBytes  = 0
	s2Bytes     = 1
	zstdBytes   = 2
	zstdPlanes  = 3 // zstd of byte planes: the first byte of all elements, then the second, …
	columnBytes = 4 // columns of values, each of up to chunk elements
)

// minCompress is the size below which data is not compressed.
const minCompress = 128

// The coders are shared by all blocks. Between calls they keep only memory, for a limited
// number of concurrent calls. They are created at program start, together with the channels
// that hand out this memory. Tests encode blocks in synctest bubbles, and bubbles cannot share
// channels that were created inside a bubble.
var (
	zstdEncoder = newEncoder()
	zstdDecoder = newDecoder()
)

func newEncoder() *zstd.Encoder {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(min(4, runtime.GOMAXPROCS(0))),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	enc.EncodeAll([]byte{0}, nil)
	return enc
}

func newDecoder() *zstd.Decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(min(4, runtime.GOMAXPROCS(0))), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return dec
}

// choose tries compression methods on this many pieces of this size. Data smaller than tryAll
// is only compressed with s2. Data smaller than tryZstd is not compressed with zstd.
const (
	pieces, pieceSize = 4, 1 << 10
	tryAll, tryZstd   = 1 << 10, 4 << 10
)

// appendCompressed appends b, compressed if that saves at least a sixteenth.
func appendCompressed(dst, b []byte, t sample.Type, s *scratch) []byte {
	if len(b) < minCompress {
		return compress(dst, b, plainBytes, t, s)
	}
	how := byte(s2Bytes)
	if len(b) >= tryAll {
		how = choose(b, t, s)
	}
	at := len(dst)
	if dst = compress(dst, b, how, t, s); len(dst)-at > len(b)*15/16 {
		return compress(dst[:at], b, plainBytes, t, s)
	}
	return dst
}

// choose tries the compression methods on a sample of b. A method slower than s2 must save
// another eighth of the size. From about this saving on, the saved storage outweighs the
// slower compression.
func choose(b []byte, t sample.Type, s *scratch) byte {
	size := max(t.ElemSize(), 1)
	if !t.IsArray() || len(b)%size != 0 {
		size = 1
	}
	part := b
	if len(b) > pieces*pieceSize {
		s.piece = s.piece[:0]
		for i := range pieces {
			at := (len(b) - pieceSize) / (pieces - 1) * i / size * size
			s.piece = append(s.piece, b[at:at+pieceSize]...)
		}
		part = s.piece
	}
	best, least := byte(s2Bytes), len(part)
	try := func(how byte) {
		s.trial = compress(s.trial[:0], part, how, t, s)
		if n := len(s.trial); how == s2Bytes {
			least = n - len(part)/8
		} else if n < least {
			best, least = how, n
		}
	}
	try(s2Bytes)
	if size > 1 {
		try(columnBytes)
	}
	switch {
	case len(b) < tryZstd || best == columnBytes && least < len(part)/2:
	case size > 1:
		try(zstdPlanes)
	default:
		try(zstdBytes)
	}
	return best
}

// compress appends b, compressed with the given method as elements of t.
func compress(dst, b []byte, how byte, t sample.Type, s *scratch) []byte {
	dst = append(dst, how)
	switch how {
	case s2Bytes:
		dst = slices.Grow(dst, s2.MaxEncodedLen(len(b)))
		return dst[:len(dst)+len(s2.Encode(dst[len(dst):cap(dst)], b))]
	case zstdBytes:
		return zstdEncoder.EncodeAll(b, dst)
	case zstdPlanes:
		s.plane = slices.Grow(s.plane[:0], len(b))[:len(b)]
		toPlanes(s.plane, b, t.ElemSize())
		return zstdEncoder.EncodeAll(s.plane, dst)
	case columnBytes:
		return appendColumns(dst, b, t.Elem(), s)
	}
	return append(dst, b...)
}

// checkSize checks that src decompresses to size bytes, as far as the headers in src show it.
// It runs before memory is allocated.
func checkSize(src []byte, size int) error {
	if len(src) == 0 {
		return ErrCorrupt
	}
	how, src, claimed := src[0], src[1:], size
	switch how {
	case plainBytes:
		claimed = len(src)
	case s2Bytes:
		n, err := s2.DecodedLen(src)
		if err != nil {
			return ErrCorrupt
		}
		claimed = n
	case zstdBytes, zstdPlanes:
		var h zstd.Header
		if h.Decode(src) != nil || h.FrameContentSize != uint64(size) {
			return ErrCorrupt
		}
	case columnBytes:
	default:
		return ErrCorrupt
	}
	if claimed != size {
		return ErrCorrupt
	}
	return nil
}

// decompress fills b from src, which holds nothing but the compressed b.
func decompress(b, src []byte, t sample.Type, s *scratch) error {
	if len(src) == 0 {
		return ErrCorrupt
	}
	how, src := src[0], src[1:]
	switch how {
	case plainBytes:
		if len(src) != len(b) {
			return ErrCorrupt
		}
		copy(b, src)
		return nil
	case s2Bytes:
		if _, err := s2.Decode(b, src); err != nil { // checkSize has checked the decoded size
			return ErrCorrupt
		}
		return nil
	case zstdBytes:
		return unzstd(b, src)
	case zstdPlanes:
		if t.ElemSize() == 0 || len(b)%t.ElemSize() != 0 {
			return ErrCorrupt
		}
		s.plane = slices.Grow(s.plane[:0], len(b))[:len(b)]
		if err := unzstd(s.plane, src); err != nil {
			return err
		}
		fromPlanes(b, s.plane, t.ElemSize())
		return nil
	case columnBytes:
		return decodeColumnsOf(b, src, t, s)
	}
	return ErrCorrupt
}

// unzstd fills b from zstd-compressed src.
func unzstd(b, src []byte) error {
	out, err := zstdDecoder.DecodeAll(src, b[:0:len(b)])
	if err != nil || len(out) != len(b) {
		return ErrCorrupt
	}
	return nil
}
