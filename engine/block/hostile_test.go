package block

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"varve.dev/varve/engine/sample"
)

// anyTimes returns times of a realistic or of a broken clock.
func anyTimes(rng *rand.Rand, n int) []int64 {
	step := []int64{1, 8, 1e6, 1e8, 1e9, 60e9, 0}[rng.IntN(7)]
	jitter := []int64{0, 0, 1, 1000, 20_000, 1e9}[rng.IntN(6)]
	now := []int64{start, -631_152_000 * second, 7_258_118_400 * second, 0, math.MaxInt64 - 1000, math.MinInt64}[rng.IntN(6)]
	strange := []int{0, 0, 100, 3}[rng.IntN(4)]
	times := make([]int64, n)
	for i := range times {
		now += step
		if times[i] = now; jitter > 0 {
			times[i] += rng.Int64N(jitter)
		}
		if strange > 0 && rng.IntN(strange) == 0 {
			switch rng.IntN(4) {
			case 0:
				now += rng.Int64N(1e15) // a pause
			case 1:
				now -= rng.Int64N(1e15) // the clock is set back
			case 2:
				times[i] = int64(rng.Uint64())
			case 3:
				times[i] = times[max(i-1, 0)]
			}
		}
	}
	return times
}

func anyTags(rng *rand.Rand, n int) []sample.Tag {
	often, tags := []int{1, 3, 100, 1000}[rng.IntN(4)], make([]sample.Tag, n)
	tag := sample.Tag(0)
	for i := range tags {
		if rng.IntN(often) == 0 {
			tag = sample.Tag(rng.Uint32()) >> (8 * rng.IntN(5))
		}
		tags[i] = tag
	}
	return tags
}

// anyWords returns realistic values of a type, a few of them replaced by odd ones.
func anyWords(rng *rand.Rand, typ sample.Type, n int) []uint64 {
	r := realistic[rng.IntN(len(realistic))]
	words := r.signal(rng, n)
	if isFloat := typ == sample.Float64 || typ == sample.Float32; isFloat != (r.typ == sample.Float64) {
		for i := range words {
			words[i] = uint64(int64(words[i]) >> (i % 7))
		}
	} else if typ == sample.Float32 {
		for i, w := range words {
			words[i] = uint64(math.Float32bits(float32(math.Float64frombits(w))))
		}
	}
	if strange := []int{0, 1000, 50, 5}[rng.IntN(4)]; strange > 0 {
		for i := range words {
			if rng.IntN(strange) == 0 {
				words[i] = odd[rng.IntN(len(odd))]
			}
		}
	}
	return words
}

// TestAnyColumn checks that any column decodes bit for bit, also if it is appended to a run
// that has samples.
func TestAnyColumn(t *testing.T) { encodeAnyColumns(t, 200) }

func TestLong_AnyColumn(t *testing.T) { encodeAnyColumns(t, 2000) }

func encodeAnyColumns(t *testing.T, rounds int) {
	t.Helper()
	types := []sample.Type{sample.Float64, sample.Float64, sample.Float64, sample.Float32, sample.Int64, sample.Uint32, sample.Enum, sample.Bool}
	var blob []byte
	var got sample.Run
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 77))
		typ := types[rng.IntN(len(types))]
		n := 1 + rng.IntN([]int{40, 300, 1200}[rng.IntN(3)])
		r := &sample.Run{Type: typ, Times: anyTimes(rng, n), Tags: anyTags(rng, n), Words: anyWords(rng, typ, n)}
		before := r.Clone()
		blob = Append(append(blob[:0], "prefix"...), r)
		if !same(before, r) || string(blob[:6]) != "prefix" {
			t.Fatalf("seed %d: Append changed its input", seed)
		}
		got.Reset(typ)
		for range 2 {
			if err := Decode(&got, blob[6:]); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		before.AppendRange(r, 0, n)
		if !same(before, &got) {
			t.Fatalf("seed %d: %v × %d decodes to other samples", seed, typ, n)
		}
		if most := 30 + 26*n; len(blob) > most {
			t.Errorf("seed %d: %d samples of %v take %d bytes", seed, n, typ, len(blob))
		}
	}
}

// TestTruncatedAndExtended checks that a truncated blob, or one with an extra byte, does not
// decode and leaves the run unchanged.
func TestTruncatedAndExtended(t *testing.T) {
	for name, r := range forms() {
		blob := Append(nil, r)
		got := &sample.Run{Type: r.Type}
		got.AppendRange(r, 0, 1)
		before := got.Clone()
		for n := range blob {
			if err := Decode(got, blob[:n:n]); err == nil {
				t.Fatalf("%s: the first %d of %d bytes decode", name, n, len(blob))
			}
			if !same(before, got) {
				t.Fatalf("%s: a failed Decode of %d of %d bytes changed the run", name, n, len(blob))
			}
		}
		if err := Decode(got, append(blob, 0)); err == nil {
			t.Fatalf("%s: a blob with an extra byte decodes", name)
		}
	}
}

// TestChangedBytes checks that a blob with changed bytes either decodes or returns an error.
func TestChangedBytes(t *testing.T) { changeBytes(t, 1) }

// TestLong_ChangedBytes is TestChangedBytes with several changes of each byte.
func TestLong_ChangedBytes(t *testing.T) { changeBytes(t, 8) }

// changeBytes changes each byte of each form a number of times.
func changeBytes(t *testing.T, times int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 8))
	var got sample.Run
	for _, r := range forms() {
		blob := Append(nil, r)
		for at := range blob {
			for range times {
				changed := bytes.Clone(blob)
				changed[at] ^= byte(1 + rng.IntN(255))
				got.Reset(sample.Unknown)
				if Decode(&got, changed) == nil && got.Len() == 0 {
					t.Fatal("no samples, and no error")
				}
			}
		}
	}
}

// TestClaims checks that Decode allocates no memory for the large sizes that a short blob claims.
func TestClaims(t *testing.T) {
	r := &sample.Run{Type: sample.Uint8.Array()}
	for i := range int64(60) {
		r.Append(&sample.Sample{Time: i, Bytes: make([]byte, 1<<20)})
	}
	s := takeScratch(r.Len())
	for i := range s.ints[:60] {
		s.ints[i] = 1 << 20
	}
	front := append([]byte{Version, byte(r.Type), 60}, appendTimes(nil, r.Times, s)...)
	front = appendTags(front, r.Tags, s)
	for i := range s.ints[:60] {
		s.ints[i] = 1 << 20
	}
	front = appendInts(front, s.ints[:60], s)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, rest := range [][]byte{{plainBytes, 1, 2, 3}, append([]byte{s2Bytes}, 0x80, 1, 5), {99}} {
		if err := Decode(new(sample.Run), append(bytes.Clone(front), rest...)); err == nil {
			t.Errorf("60 MB from %d bytes", len(rest))
		}
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 1<<20 {
		t.Errorf("%d bytes were allocated for %d", made, len(front))
	}
}

func FuzzDecode(f *testing.F) {
	for _, some := range []map[string]*sample.Run{forms(), cases()} {
		for _, r := range some {
			if b := Append(nil, r); len(b) < 5000 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, blob []byte) {
		var r, again sample.Run
		if Decode(&r, blob) != nil {
			return
		}
		if err := Decode(&again, Append(nil, &r)); err != nil {
			t.Fatal(err)
		}
		if !same(&r, &again) {
			t.Fatal(equal(&r, &again))
		}
	})
}

// FuzzValues encodes and decodes a column of floats and one of integers made from any bytes.
func FuzzValues(f *testing.F) {
	for _, r := range forms() {
		var b []byte
		for _, w := range r.Words[:min(len(r.Words), 200)] {
			b = appendUint64(b, w)
		}
		f.Add(b, uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, repeat uint8) {
		for _, typ := range []sample.Type{sample.Float64, sample.Float32, sample.Int64} {
			r := &sample.Run{Type: typ}
			for range max(repeat, 1) {
				for i := 0; i+8 <= len(b) && r.Len() < 4096; i += 8 {
					w := sample.Word(sample.Uint64.Array(), b[i:i+8], 0)
					r.Append(&sample.Sample{Time: int64(w), Tag: sample.Tag(w), Word: w})
				}
			}
			if r.Len() == 0 {
				return
			}
			var got sample.Run
			if err := Decode(&got, Append(nil, r)); err != nil || !same(r, &got) {
				t.Fatalf("%v decodes to another value: %v", typ, err)
			}
		}
	})
}
