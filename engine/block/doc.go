// Package block encodes a run of samples of one PV and one type as columns. The result is
// the blob of a stored block, or one PV's part of a journal row.
//
//	sample.Run ──▶ Append ──▶ version, type, count │ times │ tags │ values
//	sample.Run ◀── Decode ◀──────────────────────────────┘
//
// Every column is converted to integers. The encoder tries the forms on a few of the column's
// values, and takes the form that is the smallest for them:
//
//	times ── in the coarsest unit ──┐
//	tags ─── runs, or ──────────────┤              ┌─ even, or short ─▶ one frame
//	integers, enums ────────────────┼─▶ integers ──┼─ rarely change ──▶ runs ─────────┐
//	floats ┬─ ÷ 10^e ───────────────┤              ├─ few values ─────▶ dictionary ───┤
//	       ├─ × step + offset ──────┤              └─ factor, model ──▶ residuals ◀───┘
//	       ├─ their bits in order ──┘                                       │
//	       ├─ exponents │ mantissas              frames: packed, patched ◀──┤
//	       └─ XOR, or planes of bytes              bins: Huffman's code ◀───┘
//
//	strings, structures ── dictionary ──▶ lengths, bytes ── as they are, s2, zstd
//	arrays ─────────────── the same, or their elements as columns of values
//
// Floats become integers only if the integers restore them bit for bit. The encoder checks
// every value and lists the exceptions. Columns of fewer than 32 values, as in a journal row,
// take the simplest forms, which need no search and only a short header. The layout is drawn
// in docs/format/block.md. Encoding is lossless for every bit pattern, and it keeps the order
// of samples, even if their times do not rise.
package block
