package block

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/huff0"
)

// Bins pack residuals when some sizes are more frequent than others. A residual is folded
// around the center to u >= 0. It then falls into one of 252 bins, four for each power of two:
//
//	u < 8   bin u
//	else    bin 4w + (u >> w), and the low w bits of u, w = bits.Len(u) - 3
//
// The bin numbers are Huffman-coded. The low bits follow uncompressed.

// binsFrom is the number of residuals above which Huffman coding may pay off.
const binsFrom = 256

// binOf returns the bin of u and the number of its low bits.
func binOf(u uint64) (bin, low int) {
	low = max(bits.Len64(u)-3, 0)
	return 4*low + int(u>>low), low
}

// lowBits and bases hold, for each bin, the number of its low bits and its smallest u.
var lowBits, bases = func() (low [256]uint8, base [256]uint64) {
	for b := range 252 {
		low[b] = uint8(max(b/4-1, 0))
		base[b] = uint64(b-4*int(low[b])) << low[b]
	}
	return low, base
}()

// estimateBins chooses a center and estimates from a sample how many bits the bins of res take
// around it.
func estimateBins(res []int64) (center int64, size int) {
	const sample, medianOf = 512, 31
	var probes [medianOf]int64
	for i := range probes {
		probes[i] = res[(len(res)-1)*i/(medianOf-1)]
	}
	slices.Sort(probes[:])
	center = probes[medianOf/2]

	var count [256]int
	n, low := 0, 0
	for i := 0; i < len(res); i += max(1, len(res)/sample) {
		b, l := binOf(zigzag(res[i] - center))
		count[b]++
		n++
		low += l
	}
	entropy, used := 0.0, 0
	for _, c := range count {
		if c > 0 {
			entropy += float64(c) * math.Log2(float64(n)/float64(c))
			used++
		}
	}
	// The entropy of a sample is too low (Miller and Madow), and a code takes at least one
	// bit.
	entropy = max(entropy+0.72*float64(used), float64(n))
	return center, int((entropy+float64(low))*float64(len(res))/float64(n)) + 6*used + 100
}

// appendBins appends res as bins. It returns false if the residuals cannot be coded.
func appendBins(dst []byte, res []int64, center int64, s *scratch) ([]byte, bool) {
	s.grow(len(res))
	bins := s.bins[:len(res)]
	total := 0
	for i, v := range res {
		b, low := binOf(zigzag(v - center))
		bins[i] = byte(b)
		total += low
	}
	code, _, err := huff0.Compress4X(bins, s.coder())
	if err != nil {
		return dst, false
	}
	dst = binary.AppendUvarint(appendVarint(dst, center), uint64(len(code)))
	dst = append(dst, code...)

	end := len(dst) + (total+7)/8
	dst = slices.Grow(dst, end+2*slack-len(dst))
	out := dst[len(dst) : end+2*slack]
	var acc uint64
	have := 0
	for i, v := range res {
		low := int(lowBits[bins[i]])
		u := zigzag(v-center) & (1<<low - 1)
		acc |= u << (have & 63)
		if have += low; have >= 64 {
			binary.LittleEndian.PutUint64(out, acc)
			out = out[8:]
			have -= 64
			acc = u >> (low - have)
		}
	}
	binary.LittleEndian.PutUint64(out, acc)
	return dst[:end], true
}

func decodeBins(res []int64, src []byte, s *scratch) ([]byte, error) {
	center, src, err := readVarint(src)
	if err != nil {
		return nil, err
	}
	size, src, err := readUvarint(src, uint64(len(src)))
	if err != nil || size > uint64(len(src)) {
		return nil, ErrCorrupt
	}
	s.grow(len(res))
	bins := s.bins[:len(res)]
	if err := decodeBinNumbers(bins, src[:size], s); err != nil {
		return nil, err
	}
	src = src[size:]
	total := 0
	for _, b := range bins {
		total += int(lowBits[b])
	}
	if len(src) < (total+7)/8 {
		return nil, ErrCorrupt
	}
	low, rest := src[:(total+7)/8], src[(total+7)/8:]
	i, bit := 0, 0
	for ; i < len(res) && bit>>3+slack < len(src); i++ {
		bit += putBin(&res[i], bins[i], src, bit, center)
	}
	if i < len(res) {
		var tail [3 * slack]byte
		copy(tail[:], low[bit>>3:])
		for bit &= 7; i < len(res); i++ {
			bit += putBin(&res[i], bins[i], tail[:], bit, center)
		}
	}
	return rest, nil
}

// putBin computes the residual of a bin from the low bits at position bit of src. It returns
// the number of those low bits.
func putBin(v *int64, bin byte, src []byte, bit int, center int64) int {
	low := lowBits[bin]
	*v = unzigzag(bases[bin]+bitsAt(src, bit)&(1<<(low&63)-1)) + center
	return int(low)
}

func decodeBinNumbers(bins, src []byte, s *scratch) error {
	coder, src, err := huff0.ReadTable(src, s.coder())
	if err != nil {
		return ErrCorrupt
	}
	coder.MaxDecodedSize = len(bins)
	out, err := coder.Decoder().Decompress4X(bins[:0:len(bins)], src)
	if err != nil || len(out) != len(bins) {
		return ErrCorrupt
	}
	return nil
}
