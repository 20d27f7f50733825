package backup

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// everyRow returns a row of each kind, with a value in each field.
func everyRow() []any {
	w := store.WriterID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	return []any{
		&store.Claim{Shard: 3, Writer: w, Epoch: 4, Since: 5, Alive: 6, Sealed: store.At(1, 2), Closed: true, Last: store.At(1, 3), Sealing: 2, Saved: -7},
		&store.JournalRow{Shard: 3, Writer: w, At: store.At(2, 1), Index: []byte{1, 2}, Blob: []byte{3}},
		&store.Channel{
			PV: "A:B", Shards: []int{3, 300}, Starts: []store.Bucket{store.Day.Of(0).In(store.Keep90d)}, Types: []sample.Type{sample.Float64},
			Levels: []store.Level{store.LevelOf(time.Second, store.Keep1y)}, Deleted: []store.Deleted{{From: -1, To: 2, Done: true}},
		},
		&store.Block{
			BlockKey: store.BlockKey{PV: "A:B", Bucket: store.Month.Of(-1), Start: -2, Writer: w, N: 300}, End: 9, Count: 2, Type: sample.Float64,
			Min: -1.5, Max: 2, Sum: 0.5, Blob: []byte{4, 5, 6},
		},
		&store.Rollup{PV: "A:B", Level: store.LevelOf(time.Second, store.Forever), Tile: -1, Stamp: 8000, Blob: []byte{7}},
		&store.PVMark{PV: "A:B", Writer: w, Mark: sample.Mark{Time: 1, End: 2, Kind: sample.Lost, Reason: sample.Overrun, Count: 300, Text: "é"}},
		&store.PVMetadata{PV: "A:B", Time: 1, Metadata: sample.Metadata{
			Units: "mA", Precision: -1, DisplayLow: 1, DisplayHigh: 2, WarnLow: 3, WarnHigh: 4, AlarmLow: 5, AlarmHigh: 6, ControlLow: 7, ControlHigh: 8,
			Labels: []string{"off", "on"}, Type: sample.Float64, Count: 1, Host: "ioc:5064", Properties: []sample.Property{{Name: "DESC", Value: "x"}},
		}},
		&store.Cutoff{Before: 1, At: 2, By: w, Size: 3, Limit: 4, Open: true, Settled: 5, Peak: 6},
		&store.CutoffProgress{Shard: 1, Cutoff: 2, Buckets: 3, Bytes: 4},
	}
}

func packOf(t testing.TB, all []any) []byte {
	t.Helper()
	pack := []byte(packHeader)
	for _, row := range all {
		var err error
		if pack, _, err = appendFrame(pack, row); err != nil {
			t.Fatal(err)
		}
	}
	return pack
}

// TestGolden compares a pack with the bytes that the first version has written. Later versions must read them.
func TestGolden(t *testing.T) {
	pack := packOf(t, everyRow())
	file := filepath.Join("testdata", "pack-1.hex")
	var lines strings.Builder
	rest := pack[len(packHeader):]
	lines.WriteString(hex.EncodeToString([]byte(packHeader)) + "\n")
	for len(rest) > 0 {
		_, n, err := firstRow(rest)
		must(t, err)
		lines.WriteString(hex.EncodeToString(rest[:n]) + "\n")
		rest = rest[n:]
	}
	if os.Getenv("VARVE_UPDATE") != "" {
		must(t, os.MkdirAll("testdata", 0o750))
		must(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if lines.String() != string(want) {
		t.Errorf("the pack is\n%s", lines.String())
	}
	golden, err := hex.DecodeString(strings.ReplaceAll(string(want), "\n", ""))
	must(t, err)
	i := 0
	for row, err := range rows(golden) {
		must(t, err)
		if !reflect.DeepEqual(row, everyRow()[i]) {
			t.Errorf("row %d is %+v instead of %+v", i, row, everyRow()[i])
		}
		i++
	}
	if i != int(lastKind) {
		t.Errorf("%d rows were read", i)
	}
}

// A pack that is cut, or has a flipped bit, does not read as a shorter or another pack: the hash in its name differs. Its rows have
// checksums, so a row is never read with other bytes.
func TestDamagedRows(t *testing.T) {
	pack := packOf(t, everyRow())
	whole := everyRow()
	for at := range pack {
		for _, damaged := range [][]byte{pack[:at], flip(pack, at)} {
			i := 0
			for row, err := range rows(damaged) {
				if err != nil {
					if !errors.Is(err, errDamagedPack) {
						t.Fatalf("byte %d: %v", at, err)
					}
					break
				}
				if !reflect.DeepEqual(row, whole[i]) {
					t.Fatalf("byte %d: row %d is %+v", at, i, row)
				}
				i++
			}
		}
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x10
	return b
}

func TestTooLargeRow(t *testing.T) {
	if _, _, err := appendFrame(nil, &store.JournalRow{Index: make([]byte, maxRow)}); err == nil {
		t.Error("a row that is too large was packed")
	}
	b, _, err := appendFrame([]byte(packHeader), &store.Block{Blob: make([]byte, store.MaxBlob), Min: math.NaN()})
	must(t, err)
	for row, err := range rows(b) {
		must(t, err)
		if n := len(row.(*store.Block).Blob); n != store.MaxBlob {
			t.Errorf("the blob has %d bytes", n)
		}
	}
}

// FuzzRow checks that the decoder returns an error or a row that encodes to the same bytes.
func FuzzRow(f *testing.F) {
	for _, row := range everyRow() {
		b, _ := appendRow(nil, row)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		row, k, err := decodeRow(b)
		if err != nil {
			return
		}
		if k != kindOf(row) {
			t.Fatalf("kind %d has row %T", k, row)
		}
		if again, _ := appendRow(nil, row); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes to %+v, which encodes to %x", b, row, again)
		}
	})
}

// FuzzManifest checks that the decoder of manifests survives any bytes.
func FuzzManifest(f *testing.F) {
	m := &Manifest{Name: "b", Shards: 1, FormatLevel: 6, Packs: []Pack{{SHA256: strings.Repeat("a", 64), Group: Blocks}}}
	data, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeManifest("b", b); err == nil && (m.Name != "b" || m.Shards < 1) {
			t.Fatalf("%+v", m)
		}
	})
}

func TestSliceBits(t *testing.T) {
	for _, c := range []struct{ pvs, former, want int }{
		{1, -1, 0}, {256, -1, 0}, {257, -1, 1}, {514, -1, 2}, {1 << 20, -1, 12}, {1000, 0, 0}, {1100, 0, 3}, {1 << 20, 11, 11}, {1 << 20, 9, 12},
		{10, 5, 0}, {1 << 20, 30, 12},
	} {
		if got := sliceBits(c.pvs, c.former); got != c.want {
			t.Errorf("%d PVs, formerly %d bits: %d bits instead of %d", c.pvs, c.former, got, c.want)
		}
	}
}
