package cassandra

import (
	"encoding/binary"
	"math"

	"varve.dev/varve/engine/store"
)

// deletedLen is the length of an element of the column deleted: from and to, big-endian, and 1 if the
// deletion is done.
const deletedLen = 17

func encodeDeleted(ranges []store.Deleted) [][]byte {
	out := make([][]byte, len(ranges))
	for i, d := range ranges {
		e := binary.BigEndian.AppendUint64(make([]byte, 0, deletedLen), uint64(d.From))
		e = binary.BigEndian.AppendUint64(e, uint64(d.To))
		if d.Done {
			out[i] = append(e, 1)
		} else {
			out[i] = append(e, 0)
		}
	}
	return out
}

// decodeDeleted is the reverse of encodeDeleted. An element that cannot be read hides everything: a reader
// must not show samples that may be deleted.
func decodeDeleted(elements [][]byte) (ranges []store.Deleted) {
	for _, e := range elements {
		if len(e) != deletedLen || e[16] > 1 {
			ranges = append(ranges, store.Deleted{From: math.MinInt64, To: math.MaxInt64})
			continue
		}
		ranges = append(ranges, store.Deleted{
			From: int64(binary.BigEndian.Uint64(e)), To: int64(binary.BigEndian.Uint64(e[8:])), Done: e[16] == 1,
		})
	}
	return ranges
}
