package block

import (
	"math/bits"
)

// frameSize is the number of residuals that share a base and a width. One byte holds the
// position of a patch in its frame.
const frameSize = 256

// patched is the bit of the width byte that marks a frame with patches.
const patched = 0x80

// frame describes how up to frameSize residuals are packed. Each residual is stored as its
// distance from base, in width bits. A few residuals may need more bits. Patches after the
// frame hold their upper bits.
type frame struct {
	base    int64
	width   int
	patches int
}

// appendPacked appends a column as a single frame, as frames or as bins, but not as nested
// columns. If orDict is set, it may also use a dictionary. It overwrites vals.
func appendPacked(dst []byte, vals []int64, s *scratch, orDict bool) []byte {
	if len(vals) < short {
		return appendFlat(dst, vals)
	}
	m := chooseModel(vals)
	if orDict && m.bits > 6 {
		if dst, ok := tryDict(dst, vals, &m, s); ok {
			return dst
		}
	}
	res := m.apply(vals)
	size := s.planFrames(res)
	form := m.kind
	if m.factor != 1 {
		form |= factorBit
	}
	at := len(dst)
	if len(res) >= binsFrom && size > len(res)/8 {
		if center, bits := estimateBins(res); bits+bits/16 < 8*size {
			dst = m.append(append(dst, binned|form))
			if dst, ok := appendBins(dst, res, center, s); ok {
				return dst
			}
			dst = dst[:at]
		}
	}
	if form <= delta && s.oneFrame() {
		f := &s.frames[0]
		if dst = append(dst, form<<7|byte(f.width)); form == delta {
			dst = appendVarint(dst, m.first)
		}
		return pack(appendVarint(dst, f.base), res, f.base, f.width)
	}
	dst = m.append(append(dst, framed|form))
	return s.appendFrames(dst, res)
}

// decodePacked reads what appendPacked wrote with orDict unset.
func decodePacked(vals []int64, src []byte, s *scratch) (rest []byte, err error) {
	if len(src) == 0 {
		return nil, ErrCorrupt
	}
	form := src[0]
	if form&^deltaBit <= 64 {
		return decodeFlat(vals, src)
	}
	if form < framed || form >= binned+8 || len(vals) < 2 {
		return nil, ErrCorrupt
	}
	var m model
	if src, err = m.read(form, src[1:]); err != nil {
		return nil, err
	}
	if form < binned {
		src, err = decodeFrames(m.residuals(vals), src)
	} else {
		src, err = decodeBins(m.residuals(vals), src, s)
	}
	if err == nil {
		m.undo(vals)
	}
	return src, err
}

// planFrames chooses the base and the width of each frame and returns the estimated size in
// bytes.
func (s *scratch) planFrames(res []int64) (size int) {
	s.frames = s.frames[:0]
	before := int64(0)
	for len(res) > 0 {
		n := min(len(res), frameSize)
		f, patchBits := planFrame(res[:n])
		s.frames = append(s.frames, f)
		size += 2 + bits.Len64(zigzag(f.base-before))/7 + packedLen(n, f.width) + patchBits/8
		before, res = f.base, res[n:]
	}
	return size
}

// oneFrame reports whether all frames are equal and have no patches. They can then be written
// as one frame of any size.
func (s *scratch) oneFrame() bool {
	for _, f := range s.frames {
		if f != s.frames[0] || f.patches > 0 {
			return false
		}
	}
	return true
}

// planFrame chooses the width with the smallest frame, patches included. It also returns the
// number of bits that the patches take.
func planFrame(vals []int64) (f frame, patchBits int) {
	low, high := bounds(vals)
	f = frame{base: low, width: widthOf(low, high)}
	if f.width < 2 || len(vals) < short {
		return f, 0
	}
	// Patches pay off only if few values lie outside half the range.
	center, out := middle(vals), 0
	half := uint64(1) << (f.width - 2)
	for _, v := range vals {
		if uint64(v-center)+half >= 2*half {
			out++
		}
	}
	if out*minPatch >= len(vals) {
		return f, 0
	}
	width, patchBits := patchedWidth(vals, center, f.width)
	if width >= f.width {
		return f, 0
	}
	return tightFrame(vals, center, width), patchBits
}

// minPatch is the minimum size of a patch in bits: its position and a uvarint.
const minPatch = 16

func patchBits(above int) int { return 8 + 8*((above+6)/7) }

// patchedWidth returns the width that minimizes the total size of packed bits and patches,
// with values measured from center. It returns most if no smaller width is better.
func patchedWidth(vals []int64, center int64, most int) (width, patches int) {
	var count [66]int
	for _, v := range vals {
		d := v - center
		count[bits.Len64(uint64(d^d>>63))+int(uint64(d|-d)>>63)]++ // 0 takes no bits, other values take a sign bit
	}
	width = most
	best, out := len(vals)*most, 0
	for w := 64; w > 0; w-- {
		if out += count[w]; out > 255 {
			break
		}
		if cost := len(vals)*(w-1) + out*patchBits(most+1-w); w <= most && cost < best {
			best, width, patches = cost, w-1, out*patchBits(most+1-w)
		}
	}
	return width, patches
}

// tightFrame returns the smallest frame for the values that fit into width bits around center.
func tightFrame(vals []int64, center int64, width int) frame {
	low, high := center, center
	half := uint64(1) << width >> 1
	for _, v := range vals {
		if uint64(v-center)+half < 2*half {
			low, high = min(low, v), max(high, v)
		}
	}
	f := frame{base: low, width: widthOf(low, high)}
	for _, v := range vals {
		if uint64(v-low)>>f.width != 0 {
			f.patches++
		}
	}
	return f
}

// appendFrames appends the residuals in the planned frames.
func (s *scratch) appendFrames(dst []byte, res []int64) []byte {
	before := int64(0)
	for _, f := range s.frames {
		n := min(len(res), frameSize)
		dst = append(dst, byte(f.width))
		if f.patches > 0 {
			dst[len(dst)-1] |= patched
		}
		dst = pack(appendVarint(dst, f.base-before), res[:n], f.base, f.width)
		if f.patches > 0 {
			dst = appendPatches(append(dst, byte(f.patches)), res[:n], f)
		}
		before, res = f.base, res[n:]
	}
	return dst
}

func appendPatches(dst []byte, vals []int64, f frame) []byte {
	for i, v := range vals {
		if above := (v - f.base) >> f.width; above != 0 {
			dst = appendVarint(append(dst, byte(i)), above)
		}
	}
	return dst
}

func decodeFrames(res []int64, src []byte) (rest []byte, err error) {
	base, step := int64(0), int64(0)
	for len(res) > 0 {
		if len(src) == 0 {
			return nil, ErrCorrupt
		}
		n, width := min(len(res), frameSize), int(src[0]&^patched)
		hasPatches := src[0]&patched != 0
		if step, src, err = readVarint(src[1:]); err != nil {
			return nil, err
		}
		base += step
		if src, err = unpack(res[:n], src, base, width); err != nil {
			return nil, err
		}
		if hasPatches {
			if src, err = decodePatches(res[:n], src, width); err != nil {
				return nil, err
			}
		}
		res = res[n:]
	}
	return src, nil
}

func decodePatches(vals []int64, src []byte, width int) ([]byte, error) {
	if len(src) == 0 {
		return nil, ErrCorrupt
	}
	n, src := int(src[0]), src[1:]
	for range n {
		if len(src) == 0 || int(src[0]) >= len(vals) {
			return nil, ErrCorrupt
		}
		at := src[0]
		above, rest, err := readVarint(src[1:])
		if err != nil {
			return nil, err
		}
		vals[at] += above << width
		src = rest
	}
	return src, nil
}
