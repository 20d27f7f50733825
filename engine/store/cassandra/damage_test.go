package cassandra_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// blobPart is a stored part of the blob of a large block.
type blobPart struct {
	part int
	body []byte
}

// TestPartsDamagedAtSomeBytes changes bytes of the parts of a large block, and cuts parts. The block
// must then be damaged for its reader, and the other blocks of the bucket whole.
func TestPartsDamagedAtSomeBytes(t *testing.T) { damageParts(t, 24) }

// TestLong_PartsDamagedAtManyBytes does the same at many more positions.
func TestLong_PartsDamagedAtManyBytes(t *testing.T) { damageParts(t, 500) }

func damageParts(t *testing.T, positions int) {
	s := newTorn(t)
	rng := rand.New(rand.NewChaCha8([32]byte{1}))
	value := make([]byte, schema.PartBytes+schema.PartBytes/8)
	for i := range value {
		value[i] = byte(rng.Uint32())
	}
	const pv = "T:DAMAGE"
	block := func(n uint32, value []byte) store.Block {
		r := &sample.Run{Type: sample.String}
		r.Append(&sample.Sample{Time: int64(n) * 1000, Bytes: value})
		return layout.Encode(store.BlockKey{PV: pv, Bucket: store.Day.Of(0), Start: r.Times[0], Writer: store.WriterID{1}, N: n}, r, 0, 1)
	}
	s.must(s.PutBlocks(t.Context(), block(1, []byte("before")), block(2, value), block(3, value), block(4, []byte("after"))))
	writer := store.WriterID{1}
	key := []any{pv, int64(store.Day.Of(0)), int64(2000), writer[:], 2}
	var stamp int64
	var parts []blobPart
	it := s.session.Query("SELECT stamp, part, body FROM "+s.keyspace+".block_part_forever WHERE pv = ? AND bucket = ? AND start = ? AND writer = ? AND n = ?", key...).IterContext(t.Context())
	for p := (blobPart{}); it.Scan(&stamp, &p.part, &p.body); p = (blobPart{}) {
		parts = append(parts, p)
	}
	s.must(it.Close())
	if len(parts) != 2 {
		t.Fatalf("the block has %d parts", len(parts))
	}
	put := func(p *blobPart, body []byte) {
		s.exec("INSERT INTO @block_part_forever (pv, bucket, start, writer, n, stamp, part, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			append(slices.Clone(key), stamp, p.part, body)...)
	}
	check := func(what string, p *blobPart, at int, damaged bool) {
		t.Helper()
		blocks, err := s.blocks(pv)
		if err != nil || len(blocks) != 4 {
			t.Fatalf("%s byte %d of part %d: %d blocks are read, %v", what, at, p.part, len(blocks), err)
		}
		for i := range blocks {
			bad := blocks[i].Damage != nil || scan.Decode(new(sample.Run), &blocks[i]) != nil
			if bad != (damaged && blocks[i].N == 2) {
				t.Errorf("%s byte %d of part %d: that block %d is damaged is %v", what, at, p.part, blocks[i].N, bad)
			}
		}
	}
	for i := range positions {
		p := &parts[i%2]
		at := rng.IntN(len(p.body))
		switch i / 2 { // the ends first
		case 0:
			at = 0
		case 1:
			at = len(p.body) - 1
		}
		body := slices.Clone(p.body)
		body[at] ^= 1 << rng.IntN(8)
		put(p, body)
		check("changed", p, at, true)
		put(p, p.body[:at])
		check("cut at", p, at, true)
		put(p, p.body)
	}
	check("mended", &parts[0], 0, false)
}
