package postprocess

import (
	"encoding/binary"
	"math"

	"varve.dev/varve/engine/sample"
)

// A run of a result ends when it has chunkSamples samples or chunkBytes bytes.
const (
	chunkSamples = 4096
	chunkBytes   = 256 << 10
)

// output gathers the samples of a result into runs.
type output struct {
	yield func(*sample.Run, error) bool
	run   sample.Run
	ended bool // the consumer has stopped
}

// makeRoom makes sure that samples of a type can be added to the run.
func (o *output) makeRoom(t sample.Type) {
	if o.run.Type != t || o.run.Len() >= chunkSamples || o.run.Size() >= chunkBytes {
		o.flush()
		o.run.Reset(t)
	}
}

func (o *output) flush() {
	if o.run.Len() > 0 && !o.ended {
		o.ended = !o.yield(&o.run, nil)
	}
	o.run.Reset(sample.Unknown)
}

// copy adds samples i to j (exclusive) of a run.
func (o *output) copy(r *sample.Run, i, j int) {
	for i < j && !o.ended {
		o.makeRoom(r.Type)
		n := 1 // values of bytes one by one, because each may be large
		if r.Type.Fixed() {
			n = min(j-i, chunkSamples-o.run.Len())
		}
		o.run.AppendRange(r, i, i+n)
		i += n
	}
}

// at adds the only sample of a run, with another time.
func (o *output) at(t int64, one *sample.Run) {
	o.copy(one, 0, 1)
	o.run.Times[o.run.Len()-1] = t
}

// word adds a sample of a Fixed type.
func (o *output) word(t sample.Type, at int64, tag sample.Tag, w uint64) {
	o.makeRoom(t)
	o.run.Times = append(o.run.Times, at)
	o.run.Tags = append(o.run.Tags, tag)
	o.run.Words = append(o.run.Words, w)
}

// values adds a sample of numbers: a scalar if there is one number, otherwise an array.
func (o *output) values(at int64, tag sample.Tag, v []float64) {
	if len(v) == 1 {
		o.word(sample.Float64, at, tag, math.Float64bits(v[0]))
		return
	}
	o.makeRoom(sample.Float64.Array())
	o.run.Times = append(o.run.Times, at)
	o.run.Tags = append(o.run.Tags, tag)
	for _, x := range v {
		o.run.Bytes = binary.LittleEndian.AppendUint64(o.run.Bytes, math.Float64bits(x))
	}
	o.run.Ends = append(o.run.Ends, uint32(len(o.run.Bytes)))
}
