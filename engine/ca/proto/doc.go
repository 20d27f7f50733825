// Package proto is the wire codec of EPICS Channel Access, version 4.13. It has no sockets and
// no state. It converts bytes to messages, and messages to bytes.
//
//	bytes ── ReadFrame ──▶ Header + payload ─┬─ DecodeTime ──▶ sample.Sample
//	                                         ├─ DecodeMetadata ▶ sample.Metadata
//	                                         └─ Parse… ───────▶ fields
//	fields, sample.Sample ── Append… ──▶ bytes
//
// All numbers on the wire are big-endian. Every message is a header and a payload that is
// padded to a multiple of 8 bytes. docs/format/channel-access.md has drawings of the messages.
// The sources are caProto.h and db_access.h of EPICS base and the Channel Access Protocol
// Specification.
//
// Functions that append take the buffer as their first parameter and return the longer buffer.
// Functions that decode return memory of the input where possible, and their comments mention
// it.
package proto
