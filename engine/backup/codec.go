package backup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// errCorrupt means that bytes are not a row that this package has written.
var errCorrupt = errors.New("the bytes are not a row of a backup")

// kind is the kind of a row. The numbers are stored.
type kind byte

const (
	kindClaim kind = iota + 1
	kindJournal
	kindChannel
	kindBlock
	kindRollup
	kindMark
	kindMetadata
	kindCutoff
	kindProgress

	lastKind = kindProgress
)

var kindNames = [...]string{
	kindClaim: "claim", kindJournal: "journal", kindChannel: "channel", kindBlock: "block", kindRollup: "rollup",
	kindMark: "mark", kindMetadata: "metadata", kindCutoff: "cutoff", kindProgress: "progress",
}

func appendUint64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

func appendInt64(b []byte, v int64) []byte { return appendUint64(b, uint64(v)) }

func appendFloat(b []byte, v float64) []byte { return appendUint64(b, math.Float64bits(v)) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBytes(b, s []byte) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendRow appends a row: its kind, its key and its other fields. key is the length of the kind and the key.
func appendRow(b []byte, row any) (out []byte, key int) {
	from := len(b)
	switch r := row.(type) {
	case *store.Claim:
		b = append(binary.AppendUvarint(append(b, byte(kindClaim)), uint64(r.Shard)), r.Writer[:]...)
		key = len(b)
		for _, v := range []uint64{r.Epoch, uint64(r.Since), uint64(r.Alive), uint64(r.Sealed), uint64(r.Last), uint64(r.Sealing), uint64(r.Saved)} {
			b = appendUint64(b, v)
		}
		b = appendBool(b, r.Closed)
	case *store.JournalRow:
		b = append(binary.AppendUvarint(append(b, byte(kindJournal)), uint64(r.Shard)), r.Writer[:]...)
		b = appendUint64(b, uint64(r.At))
		key = len(b)
		b = appendBytes(appendBytes(b, r.Index), r.Blob)
	case *store.Channel:
		b = appendString(append(b, byte(kindChannel)), r.PV)
		key = len(b)
		b = appendSets(b, r)
	case *store.Block:
		b = appendInt64(appendInt64(appendString(append(b, byte(kindBlock)), r.PV), int64(r.Bucket)), r.Start)
		b = binary.AppendUvarint(append(b, r.Writer[:]...), uint64(r.N))
		key = len(b)
		b = append(binary.AppendUvarint(appendInt64(b, r.End), uint64(r.Count)), byte(r.Type))
		b = appendBytes(appendFloat(appendFloat(appendFloat(b, r.Min), r.Max), r.Sum), r.Blob)
	case *store.Rollup:
		b = appendInt64(appendInt64(appendString(append(b, byte(kindRollup)), r.PV), int64(r.Level)), int64(r.Tile))
		key = len(b)
		b = appendBytes(appendInt64(b, r.Stamp), r.Blob)
	case *store.PVMark:
		b = appendInt64(appendString(append(b, byte(kindMark)), r.PV), r.Time)
		b = append(append(b, byte(r.Kind), byte(r.Reason)), r.Writer[:]...)
		key = len(b)
		b = appendString(binary.AppendUvarint(appendInt64(b, r.End), r.Count), r.Text)
	case *store.PVMetadata:
		b = appendInt64(appendString(append(b, byte(kindMetadata)), r.PV), r.Time)
		key = len(b)
		b = appendMetadata(b, &r.Metadata)
	case *store.Cutoff:
		b = append(append(b, byte(kindCutoff)), r.By[:]...)
		key = len(b)
		for _, v := range []int64{r.Before, r.At, r.Size, r.Limit, r.Settled, r.Peak} {
			b = appendInt64(b, v)
		}
		b = appendBool(b, r.Open)
	case *store.CutoffProgress:
		b = binary.AppendUvarint(append(b, byte(kindProgress)), uint64(r.Shard))
		key = len(b)
		b = appendInt64(appendInt64(appendInt64(b, r.Cutoff), r.Buckets), r.Bytes)
	default:
		panic(fmt.Sprintf("BUG: a row of type %T", row))
	}
	return b, key - from
}

func appendSets(b []byte, c *store.Channel) []byte {
	b = binary.AppendUvarint(b, uint64(len(c.Shards)))
	for _, s := range c.Shards {
		b = binary.AppendVarint(b, int64(s))
	}
	b = binary.AppendUvarint(b, uint64(len(c.Starts)))
	for _, s := range c.Starts {
		b = appendInt64(b, int64(s))
	}
	b = binary.AppendUvarint(b, uint64(len(c.Types)))
	for _, t := range c.Types {
		b = append(b, byte(t))
	}
	b = binary.AppendUvarint(b, uint64(len(c.Levels)))
	for _, l := range c.Levels {
		b = appendInt64(b, int64(l))
	}
	b = binary.AppendUvarint(b, uint64(len(c.Deleted)))
	for _, d := range c.Deleted {
		b = appendBool(appendInt64(appendInt64(b, d.From), d.To), d.Done)
	}
	return b
}

func appendMetadata(b []byte, m *sample.Metadata) []byte {
	b = append(b, byte(m.Type))
	b = binary.AppendVarint(binary.AppendVarint(b, int64(m.Count)), int64(m.Precision))
	for _, l := range m.Limits() {
		b = appendFloat(b, l)
	}
	b = appendString(appendString(b, m.Units), m.Host)
	b = binary.AppendUvarint(b, uint64(len(m.Labels)))
	for _, l := range m.Labels {
		b = appendString(b, l)
	}
	b = binary.AppendUvarint(b, uint64(len(m.Properties)))
	for _, p := range m.Properties {
		b = appendString(appendString(b, p.Name), p.Value)
	}
	return b
}
