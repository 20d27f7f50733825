package spool

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

var exampleHeader = header{
	writer:  store.WriterID{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0x4c, 0xfe, 0x81, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe},
	version: version, created: 1_700_000_000_500_000_000, archive: "the keyspace k, with 64 shards",
}

var exampleRecord = record{at: store.At(1, 2), prev: 69, shard: 3, samples: 4, index: 27, body: 69, sum: 0x0a0b0c0d}

// TestGolden encodes the bytes that docs/format/spool.md draws.
func TestGolden(t *testing.T) {
	for what, got := range map[string][]byte{
		"7661727665" + "73706c" + "01" + "1032547698ba4cfe8132547698badcfe" + "0065f753fe9c9717" + "1e00" +
			hex.EncodeToString([]byte("the keyspace k, with 64 shards")) + "815d5cc7": appendHeader(nil, &exampleHeader),
		"d86e53a3" + "0d0c0b0a" + "45000000" + "1b000000" + "03000000" + "04000000" + "45000000" + "0200000001000000": appendRecord(nil, &exampleRecord),
	} {
		if hex.EncodeToString(got) != what {
			t.Errorf("the format changed: it needs a new version\n got %x\nwant %s", got, what)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	prefix := []byte("before")
	text := appendHeader(bytes.Clone(prefix), &exampleHeader)[len(prefix):]
	h, size, err := decodeHeader(append(bytes.Clone(text), "behind"...))
	if err != nil || size != len(text) || h != exampleHeader {
		t.Errorf("header: %+v, %d bytes, %v", h, size, err)
	}
	text = appendRecord(bytes.Clone(prefix), &exampleRecord)[len(prefix):]
	r, err := decodeRecord(append(bytes.Clone(text), "behind"...), 200)
	if d := cmp.Diff(exampleRecord, r, cmp.AllowUnexported(record{})); d != "" || err != nil {
		t.Errorf("record: %v (-want +got):\n%s", err, d)
	}
}

// TestDamageIsDetected checks that a damaged byte or a missing end does not go unnoticed.
func TestDamageIsDetected(t *testing.T) {
	head, rec := appendHeader(nil, &exampleHeader), appendRecord(nil, &exampleRecord)
	for i := range head {
		if _, _, err := decodeHeader(head[:i]); err == nil {
			t.Errorf("%d bytes of a header of %d decode", i, len(head))
		}
		bad := bytes.Clone(head)
		bad[i] ^= 1
		if _, _, err := decodeHeader(bad); err == nil {
			t.Errorf("a header whose byte %d is damaged decodes", i)
		}
	}
	for i := range rec {
		if _, err := decodeRecord(rec[:i], 200); err == nil {
			t.Errorf("%d bytes of a record decode", i)
		}
		bad := bytes.Clone(rec)
		bad[i] ^= 1
		if _, err := decodeRecord(bad, 200); err == nil {
			t.Errorf("a record whose byte %d is damaged decodes", i)
		}
	}
	for what, r := range map[string]record{
		"itself before it":              {at: store.At(1, 1), prev: 200},
		"no position":                   {prev: 1},
		"no partition":                  {at: 5, prev: 1},
		"an index longer than the body": {at: store.At(1, 1), index: 2, body: 1},
		"a body that is too large":      {at: store.At(1, 1), body: maxBody + 1},
		"an invalid shard":              {at: store.At(1, 1), shard: maxShards},
	} {
		if _, err := decodeRecord(appendRecord(nil, &r), 200); err == nil {
			t.Errorf("a record with %s decodes", what)
		}
	}
}

// FuzzSegment reads a file of arbitrary bytes as Open does.
func FuzzSegment(f *testing.F) {
	row := newRow(3, 0, 5, "SR:A")
	var buf bytes.Buffer
	buf.Write(appendHeader(nil, &exampleHeader))
	g := &file{ends: map[int]*end{}, offset: int64(buf.Len()), out: bufio.NewWriter(&buf)}
	for range 3 {
		if err := g.append(&row); err != nil {
			f.Fatal(err)
		}
	}
	_ = g.out.Flush()
	text := buf.Bytes()
	f.Add(text, true)
	f.Add(text[:len(text)-7], false)
	f.Add(text[:10], true)
	f.Fuzz(func(t *testing.T, text []byte, bodies bool) {
		h, size, err := decodeHeader(text)
		if err != nil {
			return
		}
		g := &segment{header: h, size: int64(size), chains: map[int]*chain{}}
		r := &reader{file: bytes.NewReader(text), size: int64(len(text)), ahead: readAhead}
		end, err := g.rows(r, bodies)
		if err != nil || end > int64(len(text)) {
			t.Fatalf("%d of %d bytes are complete: %v", end, len(text), err)
		}
		for shard, c := range g.chains {
			offsets, err := r.chain(shard, c.last, 0)
			if err != nil && len(offsets) == 0 {
				t.Fatalf("the last row of a chain: %v", err)
			}
			_ = r.latest("SR:A", c.last, 0, func(*sample.Run) bool { return true })
		}
	})
}
