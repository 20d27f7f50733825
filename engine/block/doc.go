// Package block encodes a run of samples of one PV and one type as columns: the
// blob of a stored block, and each PV's part of a journal row.
//
//	sample.Run ──▶ Append ──▶ version, type, count │ times │ tags │ values
//	sample.Run ◀── Decode ◀──────────────────────────────┘
//
// Every column ends up as integers, of which the smallest form is chosen by a sample:
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
// Floats become integers only where these give them back bit for bit: each value is
// tried, and those that do not are listed. Columns of fewer than 32 values, as a
// journal row has, take the simplest forms, which need no search and little in front.
// The layout is drawn in docs/format/block.md. Encoding is lossless for every bit
// pattern, and keeps the order of samples, whatever their times.
package block
