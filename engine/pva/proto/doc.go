// Package proto is the wire codec of EPICS pvAccess, version 2. It has no
// sockets and no state but the caches of types that the protocol itself has:
// bytes in, messages out, and the reverse.
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
// A value in canonical form is the protocol's own encoding, little-endian, with
// every type that stands inside of it written out. So two equal values have
// equal bytes, the value of a structure is that of its fields one after another,
// and what is stored can be decoded without the connection it came by.
//
// Either side may send in either byte order; a header says which. Messages are
// drawn in docs/format/pvaccess.md. The facts come from the pvAccess Protocol
// Specification (docs.epics-controls.org) and from what PVXS sends.
//
// Functions that append take the buffer first and return it grown. Everything
// that is decoded is bounded in memory and work: types by their depth and size,
// written out; values by their bytes, and by the types in them.
package proto
