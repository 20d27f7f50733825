package scan

import (
	"bytes"
	"sync"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// decoded is a block and its samples. The zero value is no block.
type decoded struct {
	key  store.BlockKey
	blob []byte
	run  *sample.Run
}

// holds reports whether d has the samples of a block. It compares the blobs, because the block may have been
// written again since d was decoded.
func (d *decoded) holds(b *store.Block) bool {
	return d.run != nil && b.Damage == nil && d.key == b.BlockKey && bytes.Equal(d.blob, b.Blob)
}

// runs keeps the memory of scans that have ended, for later scans with Scan.Reuse.
var runs = sync.Pool{New: func() any { return new(sample.Run) }}

// maxReused is the size in bytes of the largest values whose memory is reused.
const maxReused = 1 << 20

// takeRun returns an empty run, with memory of an earlier scan if reuse is true.
func takeRun(reuse bool) *sample.Run {
	if !reuse {
		return new(sample.Run)
	}
	return runs.Get().(*sample.Run)
}

// giveRun lets later scans use the memory of a run. Nobody may use the run any more.
func giveRun(r *sample.Run) {
	if cap(r.Bytes) > maxReused {
		return
	}
	r.Reset(sample.Unknown)
	runs.Put(r)
}
