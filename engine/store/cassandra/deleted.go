package cassandra

import (
	"encoding/binary"

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

// decodeDeleted is the reverse of encodeDeleted. It counts the elements that cannot be read, and leaves them out: if they
// hid everything, sealers would drop all new samples of the PV.
func decodeDeleted(elements [][]byte) (ranges []store.Deleted, damaged int) {
	for _, e := range elements {
		if len(e) != deletedLen || e[16] > 1 {
			damaged++
			continue
		}
		ranges = append(ranges, store.Deleted{
			From: int64(binary.BigEndian.Uint64(e)), To: int64(binary.BigEndian.Uint64(e[8:])), Done: e[16] == 1,
		})
	}
	return ranges, damaged
}
