package migration

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// header is the first line of a file of float32 samples of PV A:B in 2026.
const header = "\x08\x02\x12\x03A:B\x18\xea\x0f\n"

// event returns the line of a sample with the value 1, at a second below 128 of the year.
func event(second byte, fields string) string {
	msg := "\x08" + string(rune(second)) + "\x10\x00\x1d\x00\x00\x80\x3f" + fields
	return strings.NewReplacer("\x1b", "\x1b\x01", "\n", "\x1b\x02", "\r", "\x1b\x03").Replace(msg) + "\n"
}

// field returns a field of a sample.
func field(name, value string) string {
	size := 4 + len(name) + len(value)
	return "\x3a" + string(rune(size)) + "\n" + string(rune(len(name))) + name + "\x12" + string(rune(len(value))) + value
}

// write writes files below a new directory, by path.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newStore(t *testing.T) *pebble.Store {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func newImporter(t *testing.T, opts Options) *Importer {
	t.Helper()
	opts.Shards, opts.Log = 4, slog.New(slog.DiscardHandler)
	if opts.Since == 0 {
		opts.Since = math.MinInt64
	}
	m, err := NewImporter(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// all scans a directory for all PVs.
func all(t *testing.T, dir string) *Tree {
	t.Helper()
	tree, err := Scan(t.Context(), dir, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestImportsDisconnectsAsMarks also imports a second time, which must change nothing.
func TestImportsDisconnectsAsMarks(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	file := header + event(1, "") + event(90, field("cnxlostepsecs", "1767225604")+field("cnxregainedepsecs", "1767225680")) +
		event(91, field("cnxlostepsecs", "0")+field("EGU", "mA"))
	for name, text := range map[string]string{"A/B:2026.pb": file, "A/C:2026.pb": file, "x.txt": ""} {
		if err := os.MkdirAll(filepath.Join(dir, "A"), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Scan(t.Context(), dir, func(string) bool { return true })
	if err != nil || len(tree.Skipped) != 2 || len(tree.Files["A:B"]) != 1 {
		t.Fatalf("%+v, %v", tree, err)
	}
	st := newStore(t)
	for range 2 {
		r, err := newImporter(t, Options{Store: st}).Import(t.Context(), tree, "A:B")
		if err != nil || r.Read != 3 || r.Stored+r.Present != 3 || r.Damaged > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		var got []int64
		for m, err := range st.Marks(t.Context(), "A:B", query.Earliest, query.Latest) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m.Time/1e9-start, int64(m.Kind))
		}
		if len(got) != 4 || got[0] != 4 || got[1] != int64(sample.Disconnected) || got[2] != 80 || got[3] != int64(sample.Connected) {
			t.Errorf("marks at %v", got)
		}
	}
}

// TestMarksOfTheOtherArchiveGiveWay imports the connections of another archiver that ran at the same time as this one. While an
// engine was connected, the other archiver's loss of the connection must not look like a gap.
func TestMarksOfTheOtherArchiveGiveWay(t *testing.T) {
	const begin = 1767225600
	lost := func(second int, from, to int64) string {
		return event(byte(second), field("cnxlostepsecs", fmt.Sprint(begin+from))+field("cnxregainedepsecs", fmt.Sprint(begin+to)))
	}
	dir := write(t, map[string]string{"A/B:2026.pb": header + event(1, "") + lost(60, 10, 20) + lost(70, 61, 65) + lost(99, 80, 90)})
	st := newStore(t)
	own := func(second int64, writer byte, kind sample.MarkKind) store.PVMark {
		return store.PVMark{PV: "A:B", Writer: store.WriterID{writer}, Mark: sample.Mark{Time: (begin + second) * 1e9, Kind: kind}}
	}
	err := st.PutMarks(t.Context(), own(5, 1, sample.Searching), own(15, 1, sample.Connected), own(50, 2, sample.Connected),
		own(60, 1, sample.Disconnected), own(85, 2, sample.Disconnected), own(95, 2, sample.Connected))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newImporter(t, Options{Store: st}).Import(t.Context(), all(t, dir), "A:B")
	if err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "4 marks of connections are left out") {
		t.Fatalf("%+v, %v", r, err)
	}
	var got []string
	for m, err := range st.Marks(t.Context(), "A:B", query.Earliest, query.Latest) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Writer == store.Imported {
			got = append(got, fmt.Sprint(m.Kind, " ", m.Time/1e9-begin))
		}
	}
	if want := []string{"disconnected 10", "connected 90"}; !slices.Equal(got, want) {
		t.Errorf("marks are %q, want %q", got, want)
	}
}

// TestMarkPresent compares samples of equal times.
func TestMarkPresent(t *testing.T) {
	run, has := &sample.Run{Type: sample.Int32}, &sample.Run{Type: sample.Int32}
	for _, v := range []uint64{1, 2, 3} {
		run.Append(&sample.Sample{Time: 5, Word: v})
	}
	run.Append(&sample.Sample{Time: 6, Word: 3})
	has.Append(&sample.Sample{Time: 4, Word: 1})
	has.Append(&sample.Sample{Time: 5, Word: 2})
	has.Append(&sample.Sample{Time: 6, Word: 4})
	present := make([]bool, run.Len())
	markPresent(present, run, has, 0, nil)
	if present[0] || !present[1] || present[2] || present[3] {
		t.Errorf("present are %v", present)
	}
}

// timed is a store whose servers have clocks.
type timed struct{ *pebble.Store }

// storeTime is the time by the servers of a timed store.
const storeTime = 42

// Clocks implements clock.Store.
func (timed) Clocks(context.Context, func() time.Duration) ([]clock.Reading, error) { return nil, nil }

// Now implements clock.Store.
func (timed) Now() int64 { return storeTime }

// TestAnImportReadsByTheClocksOfTheStore checks that an import decides by the clocks of the store, as all readers do,
// which samples of the archive have expired.
func TestAnImportReadsByTheClocksOfTheStore(t *testing.T) {
	m := newImporter(t, Options{Store: timed{newStore(t)}})
	if m.reader.Now == nil || m.reader.Now() != storeTime {
		t.Fatal("the reader of the archive does not use the clocks of the store")
	}
	plain := newImporter(t, Options{Store: newStore(t)})
	if age := time.Since(time.Unix(0, plain.reader.Now())); age < 0 || age > time.Hour {
		t.Errorf("without such clocks, the reader's time is %v ago", age)
	}
}
