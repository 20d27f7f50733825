// Package block encodes a run of samples of one PV and one type as columns: the
// blob of a stored block, and each PV's part of a journal row.
//
//	sample.Run ──▶ Append ──▶ version, type, count │ times │ tags │ values
//	sample.Run ◀── Decode ◀──────────────────────────────┘
//
// Columns of integers are packed with the least number of bits that holds all
// values, or all differences, less the smallest (frame of reference). Floats
// that are short decimals become integers, as ALP does; others are XORed with
// the first and packed without the zero bits they share. The layout is drawn in
// docs/format/block.md. Encoding is lossless for every bit pattern.
package block
