package block

import (
	"encoding/hex"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
)

var update = flag.Bool("update", false, "write the output of Append into testdata")

// words returns a run of a fixed-size type with evenly spaced times.
func words(typ sample.Type, n int, next func(i int) uint64) *sample.Run {
	r := &sample.Run{Type: typ}
	for i := range n {
		r.Append(&sample.Sample{Time: start + int64(i)*second, Word: next(i)})
	}
	return r
}

// forms returns runs that are each encoded in a different column form.
func forms() map[string]*sample.Run {
	rng := rand.New(rand.NewPCG(5, 6))
	float := func(n int, next func(i int) float64) *sample.Run {
		return words(sample.Float64, n, func(i int) uint64 { return math.Float64bits(next(i)) })
	}
	whole := func(n int, next func(i int) int64) *sample.Run {
		return words(sample.Int64, n, func(i int) uint64 { return uint64(next(i)) })
	}
	short := floats(1.5, 1.5, 2.25)
	short.Tags[2] = sample.MakeTag(sample.Minor, 4)
	alarms := float(64, func(i int) float64 { return float64(i) })
	for i := range alarms.Tags {
		alarms.Tags[i] = []sample.Tag{0, sample.MakeTag(sample.Minor, 4), sample.MakeTag(sample.Major, 3)}[i*i%7%3]
	}
	jitter := float(48, func(i int) float64 { return float64(i) })
	for i := range jitter.Times {
		jitter.Times[i] += rng.Int64N(20_000)
	}
	paused := float(64, func(i int) float64 { return float64(i % 7) })
	for i := range paused.Times[40:] {
		paused.Times[40+i] += 1000 * second
	}
	for i := range paused.Times {
		paused.Times[i] += int64(i*i%5) * 1_000_000
	}
	lines := make([]string, 60)
	texts3 := make([]string, 40)
	for i := range lines {
		lines[i] = "the magnet power supply number " + strings.Repeat("I", i%9) + " is ready"
	}
	for i := range texts3 {
		texts3[i] = []string{"Ready", "Moving", "Fault: limit switch"}[i%11%3]
	}
	arrays := &sample.Run{Type: sample.Float64.Array()}
	pictures := &sample.Run{Type: sample.Uint8.Array()}
	for i := range 3 {
		var b, pic []byte
		for k := range 60 {
			b = appendUint64(b, math.Float64bits(float64(2000+rng.IntN(90))*0.01))
			pic = append(pic, byte(k*i/7))
		}
		arrays.Append(&sample.Sample{Time: start + int64(i)*second, Bytes: b})
		pictures.Append(&sample.Sample{Time: start + int64(i)*second, Bytes: pic})
	}
	many := make([]float64, 600)
	for i := range many {
		many[i] = rng.NormFloat64() * 1e-3
	}
	return map[string]*sample.Run{
		"short":      short,
		"xor":        floats(math.Pi, math.NaN()),
		"strings":    texts(sample.String, "on", "off"),
		"decimals":   float(40, func(i int) float64 { return float64(rng.IntN(900)) / 100 }),
		"narrow":     float(40, func(int) float64 { return float64(float32(float64(rng.IntN(900)) / 100)) }),
		"float32":    words(sample.Float32, 40, func(i int) uint64 { return uint64(math.Float32bits(float32(i%5) * 0.1)) }),
		"steps":      float(40, func(int) float64 { return float64(2000+rng.IntN(90)) * (10.0 / 4095) }),
		"offset":     float(40, func(int) float64 { return float64(float64(2000+rng.IntN(90))*(20.0/4095)) - 10 }),
		"divided":    float(40, func(int) float64 { return float64(2000+rng.IntN(90)) / 409.7 }),
		"exceptions": float(40, func(i int) float64 { return []float64{0.5, 1.5, math.NaN()}[i%39%19/9] }),
		"ordered":    float(40, func(i int) float64 { return 1 + math.Sqrt(float64(i+2))*1e-9 }),
		"split":      float(600, func(i int) float64 { return many[i] }),
		"planes":     float(600, func(i int) float64 { return many[i%280] }),
		"runs":       whole(200, func(i int) int64 { return int64(i/30) * 7 }),
		"entries":    whole(300, func(i int) int64 { return []int64{-1 << 40, 5, 1 << 50}[i*i%7%3] }),
		"bins":       whole(600, func(int) int64 { return int64(rng.ExpFloat64() * rng.ExpFloat64() * 20) }),
		"factor":     whole(40, func(i int) int64 { return int64(i*i*i%97) * 1_000_003 }),
		"squares":    whole(40, func(i int) int64 { return int64(i * i) }),
		"patches":    whole(300, func(i int) int64 { return rng.Int64N(1000) + int64(i%100/99)<<40 }),
		"alarms":     alarms,
		"jitter":     jitter,
		"paused":     paused,
		"texts":      texts(sample.String, lines...),
		"again":      texts(sample.String, texts3...),
		"arrays":     arrays,
		"pictures":   pictures,
	}
}

func appendUint64(b []byte, v uint64) []byte {
	for range 8 {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

// TestGolden checks that stored blobs still decode. It also compares today's encoding with
// the golden files, so that nobody changes the format by accident.
func TestGolden(t *testing.T) {
	for name, r := range forms() {
		path := filepath.Join("testdata", name+".hex")
		blob := Append(nil, r)
		if *update {
			if err := os.WriteFile(path, wrapped(blob), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		var got sample.Run
		if err := Decode(&got, want); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := equal(r, &got); d != "" {
			t.Errorf("%s: the golden bytes decode to other samples (-want +got):\n%s", name, d)
		}
		if string(blob) != string(want) {
			t.Errorf("%s: the encoding has changed; if this is intended, and older versions can read it, run go test ./engine/block -update\n got %x\nwant %x", name, blob, want)
		}
	}
}

func wrapped(blob []byte) (text []byte) {
	for len(blob) > 0 {
		n := min(len(blob), 48)
		text = append(hex.AppendEncode(text, blob[:n]), '\n')
		blob = blob[n:]
	}
	return text
}

// TestVersion1 decodes blobs of version 1, whose forms still exist today.
func TestVersion1(t *testing.T) {
	short := forms()["short"]
	for blob, want := range map[string]*sample.Run{
		"010b03" + "01" + "80" + "80a0abfef962" + "c801" + "0002" + "84800401" + "02" + "07" + "ac02" + "00c012": short,
		"010d02" + "03" + "0100" + "02" + "0002" + "0104" + "02" + "00" + "6f6e6f6666":                           texts(sample.String, "on", "off"),
	} {
		b, err := hex.DecodeString(blob)
		if err != nil {
			t.Fatal(err)
		}
		var got sample.Run
		if err := Decode(&got, b); err != nil {
			t.Fatal(err)
		}
		if d := equal(want, &got); d != "" {
			t.Errorf("version 1 (-want +got):\n%s", d)
		}
	}
}

// TestStored checks that a stored blob is the blob of Append with another version and a
// checksum, and that any change of it is detected.
func TestStored(t *testing.T) {
	for name, r := range forms() {
		plain, stored := Append(nil, r), AppendStored(nil, r)
		if got := stored[1 : len(stored)-4]; stored[0] != StoredVersion || string(got) != string(plain[1:]) {
			t.Errorf("%s: the stored blob is %x, the plain one %x", name, stored, plain)
		}
		got := new(sample.Run)
		if err := Decode(got, stored); err != nil || got.Len() != r.Len() {
			t.Errorf("%s: %d of %d samples, %v", name, got.Len(), r.Len(), err)
		}
		for i := range 8 * min(len(stored), 256) {
			stored[i/8] ^= 1 << (i % 8)
			// Without the version byte of a stored blob, the checksum is taken for values.
			if err := Decode(new(sample.Run), stored); err == nil {
				t.Errorf("%s: with bit %d changed, it decodes", name, i)
			}
			stored[i/8] ^= 1 << (i % 8)
		}
	}
}
