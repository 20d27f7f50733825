package block

import (
	"encoding/binary"
)

// The first byte of a column of integers is its form. A value of up to 64 is the width of a
// single frame, and deltaBit marks a frame of differences. The other forms are listed here.
const (
	deltaBit = 0x80
	// framed and binned are combined with factorBit and, in the low two bits, the model.
	framed    = 0x50
	binned    = 0x58
	factorBit = 0x04
	runs      = 0x60
	dictOfInt = 0x61
)

// short is the number of values below which a column is always a single frame. Other forms
// take more time and have longer headers, which short columns do not make up for.
const short = 32

// appendInts appends a column of integers in the form with the smallest estimated size. It
// overwrites vals.
func appendInts(dst []byte, vals []int64, s *scratch) []byte {
	if len(vals) < short {
		return appendFlat(dst, vals)
	}
	changes, step, even := 0, vals[1]-vals[0], true
	for i := 1; i < len(vals); i++ {
		d := vals[i] - vals[i-1]
		if d != 0 {
			changes++
		}
		even = even && d == step
	}
	if even {
		return appendFlat(dst, vals)
	}
	if changes < len(vals)/8 {
		return appendRuns(dst, vals, changes+1, s)
	}
	return appendPacked(dst, vals, s, true)
}

// decodeInts fills vals and returns the bytes after the column.
func decodeInts(vals []int64, src []byte, s *scratch) ([]byte, error) {
	if len(src) > 0 && src[0]&^deltaBit > 64 {
		switch src[0] {
		case runs:
			return decodeRuns(vals, src[1:], s)
		case dictOfInt:
			return decodeDict(vals, src[1:], s)
		}
	}
	return decodePacked(vals, src, s)
}

// appendFlat appends a column as one frame. It packs differences if they take fewer bits than
// the values themselves. It overwrites vals.
func appendFlat(dst []byte, vals []int64) []byte {
	low, high := bounds(vals)
	width := widthOf(low, high)
	if len(vals) > 2 && width > 0 {
		if dlow, dhigh := deltaBounds(vals); widthOf(dlow, dhigh) < width {
			first := vals[0]
			differences(vals)
			width = widthOf(dlow, dhigh)
			dst = append(dst, deltaBit|byte(width))
			dst = appendVarint(appendVarint(dst, first), dlow)
			return pack(dst, vals[1:], dlow, width)
		}
	}
	return pack(appendVarint(append(dst, byte(width)), low), vals, low, width)
}

func decodeFlat(vals []int64, src []byte) (rest []byte, err error) {
	kind, src := src[0], src[1:]
	out := vals
	if kind&deltaBit != 0 {
		if vals[0], src, err = readVarint(src); err != nil {
			return nil, err
		}
		out = vals[1:]
	}
	low, src, err := readVarint(src)
	if err != nil {
		return nil, err
	}
	if rest, err = unpack(out, src, low, int(kind&^deltaBit)); err != nil {
		return nil, err
	}
	if kind&deltaBit != 0 {
		sum(vals)
	}
	return rest, nil
}

// bounds returns the smallest and the largest of vals.
func bounds(vals []int64) (low, high int64) {
	low, high = vals[0], vals[0]
	for _, v := range vals[1:] {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// deltaBounds returns the smallest and the largest difference of adjacent values. Differences
// may overflow, but sum overflows in the same way and restores the values.
func deltaBounds(vals []int64) (low, high int64) {
	last := vals[1]
	low = last - vals[0]
	high = low
	for _, v := range vals[2:] {
		d := v - last
		low, high, last = min(low, d), max(high, d), v
	}
	return low, high
}

// differences replaces each value but the first by its difference from the previous value.
func differences(vals []int64) {
	last := vals[0]
	for i, v := range vals[1:] {
		vals[i+1] = v - last
		last = v
	}
}

// sum undoes differences.
func sum(vals []int64) {
	last := int64(0)
	for i, d := range vals {
		last += d
		vals[i] = last
	}
}

// appendRuns appends a column as n runs of equal values: first the values, then the run
// lengths. It overwrites vals.
func appendRuns(dst []byte, vals []int64, n int, s *scratch) []byte {
	dst = binary.AppendUvarint(append(dst, runs), uint64(n))
	lengths, k, from := s.sub(n), 0, 0
	for i := 1; i <= len(vals); i++ {
		if i == len(vals) || vals[i] != vals[from] {
			vals[k], lengths[k] = vals[from], int64(i-from)
			k, from = k+1, i
		}
	}
	dst = appendPacked(dst, vals[:n], s, false)
	return appendPacked(dst, lengths, s, false)
}

func decodeRuns(vals []int64, src []byte, s *scratch) ([]byte, error) {
	n, src, err := readUvarint(src, uint64(len(vals)))
	if err != nil || n == 0 {
		return nil, ErrCorrupt
	}
	buf := s.sub(2 * int(n))
	values, lengths := buf[:n], buf[n:]
	if src, err = decodePacked(values, src, s); err != nil {
		return nil, err
	}
	if src, err = decodePacked(lengths, src, s); err != nil {
		return nil, err
	}
	for i, length := range lengths {
		if length < 1 || length > int64(len(vals)) {
			return nil, ErrCorrupt
		}
		v := values[i]
		for k := range vals[:length] {
			vals[k] = v
		}
		vals = vals[length:]
	}
	if len(vals) > 0 {
		return nil, ErrCorrupt
	}
	return src, nil
}
