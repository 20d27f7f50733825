// Package proto is the wire codec of EPICS pvAccess, version 2. It has no sockets. Its only
// state is the type caches that the protocol requires. It converts bytes to messages, and
// messages to bytes.
//
//	bytes ── ReadFrame ──▶ Header + payload ── Reader ─▶ Parse… ─▶ message
//	message ── Append… ──▶ bytes
//
//	                 ┌─ Type: a tree, its fields numbered depth first
//	payload ─ Reader ┤
//	                 └─ Value ─▶ a value in canonical form
//
//	stored structure ── Walk ──▶ its parts, for readers
//
// The canonical form of a value is the little-endian encoding of the protocol, in which every
// type inside the value is written in full. Thus two equal values have equal bytes. The value
// of a structure is the concatenation of the values of its fields. A stored value can be
// decoded without the connection on which it arrived.
//
// Each side may send in either byte order, which the header of a message contains.
// docs/format/pvaccess.md has drawings of the messages. The sources are the pvAccess Protocol
// Specification (docs.epics-controls.org) and the messages that PVXS sends.
//
// Functions that append take the buffer as their first parameter and return the longer buffer.
// Decoding is limited in memory and work. For types, the limits are the depth and the size of
// the type written in full. For values, the limits depend on the size of the value and on the
// types in it.
package proto
