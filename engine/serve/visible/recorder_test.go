package visible

import (
	"context"
	"fmt"
	"iter"

	"varve.dev/varve/engine/store"
)

// recorded are the methods of the store that take the name of a PV.
var recorded = []string{"Blocks", "Channel", "Delete", "DropBucket", "LastBlock", "LatestMarks", "Marks", "Metadata", "MetadataAt", "Rollups"}

// recorder is a store that notes the name for which it was asked.
type recorder struct {
	store.Store
	name    string
	failing bool
}

func (r *recorder) note(pv string) error {
	r.name = pv
	if r.failing {
		return fmt.Errorf("reading %s", pv)
	}
	return nil
}

func fail[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

func (r *recorder) Channel(_ context.Context, pv string) (store.Channel, bool, error) {
	return store.Channel{}, false, r.note(pv)
}

func (r *recorder) Blocks(_ context.Context, pv string, _ store.Bucket, _, _ int64) iter.Seq2[store.Block, error] {
	return fail[store.Block](r.note(pv))
}

func (r *recorder) LastBlock(_ context.Context, pv string, _ store.Bucket, _ int64) (store.Block, bool, error) {
	return store.Block{}, false, r.note(pv)
}

func (r *recorder) Rollups(_ context.Context, pv string, _ store.Level, _, _ store.Tile) iter.Seq2[store.Rollup, error] {
	return fail[store.Rollup](r.note(pv))
}

func (r *recorder) Marks(_ context.Context, pv string, _, _ int64) iter.Seq2[store.PVMark, error] {
	return fail[store.PVMark](r.note(pv))
}

func (r *recorder) LatestMarks(_ context.Context, pv string, _ int64) iter.Seq2[store.PVMark, error] {
	return fail[store.PVMark](r.note(pv))
}

func (r *recorder) MetadataAt(_ context.Context, pv string, _ int64) (store.PVMetadata, bool, error) {
	return store.PVMetadata{}, false, r.note(pv)
}

func (r *recorder) Metadata(_ context.Context, pv string, _, _ int64) iter.Seq2[store.PVMetadata, error] {
	return fail[store.PVMetadata](r.note(pv))
}

func (r *recorder) Delete(_ context.Context, pv string) error { return r.note(pv) }

func (r *recorder) DropBucket(_ context.Context, pv string, _ store.Bucket, _ int64) (int64, error) {
	return 0, r.note(pv)
}
