package pebble

import (
	"encoding/binary"

	"varve.dev/varve/engine/store"
)

// The first byte of a key is its table.
const (
	tableSchema         = 's'
	tableClaim          = 'c'
	tableSealed         = 'p'
	tableJournal        = 'j'
	tableHeader         = 'h'
	tableBlob           = 'b'
	tableRollup         = 'r'
	tableChannel        = 'd'
	tableMark           = 'm'
	tableMetadata       = 'n'
	tableCutoff         = 'f'
	tableCutoffProgress = 'w'
)

// These functions append a part to a key. The encoded part sorts like its value.

func appendUint32(k []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(k, v) }

func appendUint64(k []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(k, v) }

// appendInt64 appends a number with its sign bit flipped, so that negative numbers sort
// first.
func appendInt64(k []byte, v int64) []byte { return appendUint64(k, uint64(v)^1<<63) }

func int64At(k []byte) int64 { return int64(binary.BigEndian.Uint64(k) ^ 1<<63) }

func writerKey(table byte, shard int, w store.WriterID) []byte {
	return append(appendUint32([]byte{table}, uint32(shard)), w[:]...)
}

func shardKey(table byte, shard int) []byte { return appendUint32([]byte{table}, uint32(shard)) }

func journalKey(shard int, w store.WriterID, at store.Position) []byte {
	return appendUint64(writerKey(tableJournal, shard, w), uint64(at))
}

// pvKey returns the start of all keys of a PV in a table. The length of the name comes before
// the name, so that no PV's keys begin with the pvKey of another PV.
func pvKey(table byte, pv string) []byte {
	k := make([]byte, 0, 64+len(pv))
	return append(appendUint32(append(k, table), uint32(len(pv))), pv...)
}

// pvOf splits a key that begins with a pvKey into the PV's name and the rest of the key.
func pvOf(k []byte) (pv string, rest []byte, ok bool) {
	if len(k) < 5 {
		return "", nil, false
	}
	n := binary.BigEndian.Uint32(k[1:])
	if k = k[5:]; uint64(n) > uint64(len(k)) {
		return "", nil, false
	}
	return string(k[:n]), k[n:], true
}

func bucketKey(table byte, pv string, b store.Bucket) []byte {
	return appendInt64(pvKey(table, pv), int64(b))
}

func blockKey(table byte, k *store.BlockKey) []byte {
	key := appendInt64(bucketKey(table, k.PV, k.Bucket), k.Start)
	return appendUint32(append(key, k.Writer[:]...), k.N)
}

// blockTail is the length of a block's key after its bucket.
const blockTail = 8 + len(store.WriterID{}) + 4

func levelKey(pv string, l store.Level) []byte {
	return appendInt64(pvKey(tableRollup, pv), int64(l))
}

func rollupKey(pv string, l store.Level, t store.Tile) []byte {
	return appendInt64(levelKey(pv, l), int64(t))
}

func markKey(m *store.PVMark) []byte {
	k := append(appendInt64(pvKey(tableMark, m.PV), m.Time), byte(m.Kind), byte(m.Reason))
	return append(k, m.Writer[:]...)
}

// markTail is the length of a mark's key after its PV.
const markTail = 8 + 2 + len(store.WriterID{})

func metadataKey(pv string, t int64) []byte { return appendInt64(pvKey(tableMetadata, pv), t) }

// after returns the smallest key that is greater than all keys with the prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	panic("BUG: prefix of 0xff bytes only; tables are letters")
}
