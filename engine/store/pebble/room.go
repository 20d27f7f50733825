package pebble

import (
	"fmt"

	"varve.dev/varve/engine/store"
)

// Pebble ends the process if it cannot write its WAL or its list of files. The store therefore
// refuses rows while the free space of the archive's file system is below the reserve: reserve bytes, or
// 1/reserveShare of a smaller file system. Deletions may use most of the reserve, because they free space. So
// may the writes that a deletion needs: a sealer claims the shard, corrects the tiles of the PV and raises sealed
// positions. None of these writes grows without new blocks, which are refused. The rest of the reserve is for
// files that Pebble writes in the background.
const (
	reserve         = 128 << 20
	reserveShare    = 8
	deletionReserve = 4 // deletions, and the writes that they need, leave 1/deletionReserve of the reserve
)

// checkRoom returns an error that wraps store.ErrDiskFull if there is no room for a batch that
// changes a table. If the file system does not report its free space, there is room.
func (s *Store) checkRoom(table string, size int) error {
	u, err := s.usage()
	if err != nil || u.TotalBytes == 0 {
		return nil
	}
	least := min(reserve, u.TotalBytes/reserveShare)
	switch table {
	case "deletion", "cutoff", "cutoff_progress", "rollups", "claim", "sealed":
		least /= deletionReserve
	}
	if u.AvailBytes >= least+uint64(size) {
		return nil
	}
	return fmt.Errorf("%w: %d MiB of %d MiB are free, and %d MiB must stay free", store.ErrDiskFull, u.AvailBytes>>20, u.TotalBytes>>20, least>>20)
}
