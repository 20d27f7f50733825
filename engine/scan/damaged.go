package scan

import (
	"errors"
	"fmt"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Damaged is the error of a stored block whose samples cannot be read: its bytes have changed,
// parts of its blob are missing, or a later version of the program wrote it.
type Damaged struct {
	// Block is the block without its blob.
	Block store.Block
	// Err says what is wrong with the blob.
	Err error
}

func (d *Damaged) Error() string {
	b := &d.Block
	return fmt.Sprintf("block %d of writer %v in %v bucket %d of %s cannot be read: %v", b.N, b.Writer, b.Bucket.Size(), b.Bucket, b.PV, d.Err)
}

// Unwrap returns Err.
func (d *Damaged) Unwrap() error { return d.Err }

// Lost returns the mark of the samples that only this block holds. It is false if no sample is
// lost: a carried-forward block holds a copy, and a program of a later version can read the block.
func (d *Damaged) Lost() (m sample.Mark, lost bool) {
	b := &d.Block
	if b.Count == 0 || errors.Is(d.Err, block.ErrVersion) {
		return m, false
	}
	return sample.Mark{
		Time: b.Start, End: b.End, Kind: sample.Lost, Reason: sample.Damaged, Count: uint64(b.Count), Text: d.Err.Error(),
	}, true
}

// Decode appends the samples of a stored block to r, like block.Decode. Its error is a *Damaged.
func Decode(r *sample.Run, b *store.Block) error {
	err := b.Damage
	if err == nil {
		err = block.Decode(r, b.Blob)
	}
	if err == nil {
		return nil
	}
	d := &Damaged{Block: *b, Err: err}
	d.Block.Blob = nil
	return d
}

// decode decodes a block. It reports false if the block is damaged and the scan leaves it out.
func (sc *Scan) decode(r *sample.Run, b *store.Block) (ok bool, err error) {
	err = Decode(r, b)
	return err == nil, sc.leaveOut(err)
}

// leaveOut returns the error of decoding a block, or nil if the scan leaves the block out.
func (sc *Scan) leaveOut(err error) error {
	d := (*Damaged)(nil)
	if sc.Damaged == nil || !errors.As(err, &d) {
		return err
	}
	if b := &d.Block; b.Count > 0 && b.Start <= sc.From {
		sc.lost = max(sc.lost, min(b.End, sc.From))
	}
	return sc.Damaged(d)
}
