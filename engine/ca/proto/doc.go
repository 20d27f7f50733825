// Package proto is the wire codec of EPICS Channel Access, version 4.13. It has
// no sockets and no state: bytes in, messages out, and the reverse.
//
//	bytes ── ReadFrame ──▶ Header + payload ─┬─ DecodeTime ──▶ sample.Sample
//	                                         ├─ DecodeMetadata ▶ sample.Metadata
//	                                         └─ Parse… ───────▶ fields
//	fields, sample.Sample ── Append… ──▶ bytes
//
// All numbers on the wire are big-endian. Every message is a header and a
// payload padded to a multiple of 8 bytes; docs/format/channel-access.md draws
// them. The facts come from caProto.h and db_access.h of EPICS base and from
// its Channel Access Protocol Specification.
//
// Functions that append take the buffer first and return it grown. Functions
// that decode return memory of the input where they can, and say so.
package proto
