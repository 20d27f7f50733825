package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
)

// column is a block of 4,096 samples of one kind of PV.
type column struct {
	name string
	run  *sample.Run
}

// packing holds the results of a codec for one column, per sample: the size in bytes, and the
// times to encode and decode on one core in ns.
type packing struct{ size, encode, decode float64 }

// codec measures Varve's block encoding, and compares it with Gorilla, zstd and pcodec on the
// same columns.
func (b *bench) codec(ctx context.Context) error {
	cols := codecColumns()
	pcodec, err := pcodecOf(ctx, cols)
	if err != nil {
		b.logf("skipping pcodec: %v", err)
	}
	for _, c := range cols {
		ours, err := blockOf(c.run)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", c.name, err)
		}
		xor, err := gorillaOf(c.run)
		if err != nil {
			return fmt.Errorf("encoding %s with Gorilla: %w", c.name, err)
		}
		z, err := zstdOf(c.run)
		if err != nil {
			return fmt.Errorf("compressing %s: %w", c.name, err)
		}
		for _, m := range []struct {
			name, unit string
			of         func(packing) float64
		}{
			{"encode", "ns/sample", func(p packing) float64 { return p.encode }},
			{"decode", "ns/sample", func(p packing) float64 { return p.decode }},
			{"size", "B/sample", func(p packing) float64 { return p.size }},
		} {
			of := "of Gorilla; zstd " + number(m.of(z))
			if p, found := pcodec[c.name]; found {
				of += ", pcodec " + number(m.of(p))
			}
			b.report.cost("block."+c.name+"."+m.name, m.unit, m.of(ours), m.of(xor), of)
		}
	}
	return nil
}

const codecSamples = 4096

// codecColumns returns columns of samples at 10 Hz. All are of float64, except counter and
// enum.
func codecColumns() []column {
	rng := rand.New(rand.NewPCG(1, 2))
	const jitter = 20_000 // ns
	walk := func(at, step, unit float64) func(int) float64 {
		return func(int) float64 {
			at += step * rng.NormFloat64()
			return math.Round(at*unit) / unit
		}
	}
	floats := func(jitter int64, value func(i int) float64) *sample.Run {
		return codecRun(rng, sample.Float64, jitter, func(i int) uint64 { return math.Float64bits(value(i)) })
	}
	return []column{
		{"adc", floats(jitter, func(int) float64 { return math.Round((5+rng.NormFloat64()/10)*4096/10) / 4096 * 10 })},
		{"noise", floats(jitter, func(int) float64 { return rng.Float64() })},
		{"walk", floats(0, walk(20, 0.01, 1000))},
		{"counter", codecRun(rng, sample.Int32, 0, func(i int) uint64 { return uint64(1000 + i) })},
		{"setpoint", floats(0, func(i int) float64 { return float64(i/700) * 1.5 })},
		{"temperature", floats(0, walk(21, 0.003, 100))},
		{"enum", codecRun(rng, sample.Enum, 0, func(i int) uint64 { return uint64(i / 100 * 7 % 4) })},
	}
}

func codecRun(rng *rand.Rand, typ sample.Type, jitter int64, value func(i int) uint64) *sample.Run {
	r := &sample.Run{Type: typ}
	for i := range codecSamples {
		t := 1_700_000_000e9 + int64(i)*1e8
		if jitter > 0 {
			t += rng.Int64N(jitter)
		}
		r.Append(&sample.Sample{Time: t, Word: value(i)})
	}
	return r
}

// least returns the shortest time that work on one block took, in ns per sample. The shortest
// time is the one that other programs on the machine disturbed least.
func least(work func()) float64 {
	best, until := time.Duration(math.MaxInt64), time.Now().Add(300*time.Millisecond)
	for time.Now().Before(until) {
		start := time.Now()
		work()
		best = min(best, time.Since(start))
	}
	return float64(best.Nanoseconds()) / codecSamples
}

var errOther = errors.New("the decoded samples differ from the encoded ones")

func blockOf(r *sample.Run) (p packing, err error) {
	var blob []byte
	var out sample.Run
	p.encode = least(func() { blob = block.Append(blob[:0], r) })
	p.decode = least(func() {
		out.Reset(r.Type)
		err = block.Decode(&out, blob)
	})
	p.size = float64(len(blob)) / codecSamples
	if err == nil && !slices.Equal(out.Words, r.Words) {
		err = errOther
	}
	return p, err
}

func gorillaOf(r *sample.Run) (p packing, err error) {
	unit := int64(1)
	if !slices.ContainsFunc(r.Times, func(t int64) bool { return t%1e6 != 0 }) {
		unit = 1e6
	}
	var g gorilla
	var blob []byte
	out := &sample.Run{Times: make([]int64, codecSamples), Words: make([]uint64, codecSamples)}
	p.encode = least(func() { blob = g.encode(blob[:0], r, unit) })
	p.size = float64(len(blob)) / codecSamples
	blob = append(blob, make([]byte, 16)...)
	p.decode = least(func() { g.decode(out, blob, unit) })
	if !slices.Equal(out.Words, r.Words) || !slices.Equal(out.Times, r.Times) {
		err = errOther
	}
	return p, err
}

// raw appends the values of a column as 64-bit little-endian words.
func raw[T int64 | uint64](dst []byte, vals []T) []byte {
	for _, v := range vals {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

// zstdOf compresses the raw columns with zstd at its default level.
func zstdOf(r *sample.Run) (p packing, err error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return p, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return p, err
	}
	defer dec.Close()
	plain := raw(raw(nil, r.Times), r.Words)
	var blob, out []byte
	p.encode = least(func() { blob = enc.EncodeAll(plain, blob[:0]) })
	p.decode = least(func() { out, err = dec.DecodeAll(blob, out[:0]) })
	p.size = float64(len(blob)) / codecSamples
	if err == nil && !bytes.Equal(out, plain) {
		err = errOther
	}
	return p, err
}

// pcodecOf compresses the columns with pcodec, a codec written in Rust. It compresses times
// and values separately.
func pcodecOf(ctx context.Context, cols []column) (map[string]packing, error) {
	out, err := exec.CommandContext(ctx, "hack/venv.sh", "codecs").Output()
	if err != nil {
		return nil, fmt.Errorf("creating the Python environment: %w", err)
	}
	lines := strings.Fields(string(out))
	var in bytes.Buffer
	for _, c := range cols {
		kind := "int64"
		if c.run.Type == sample.Float64 {
			kind = "float64"
		}
		fmt.Fprintf(&in, "%s int64 %d\n", c.name, codecSamples)
		in.Write(raw(nil, c.run.Times))
		fmt.Fprintf(&in, "%s %s %d\n", c.name, kind, codecSamples)
		in.Write(raw(nil, c.run.Words))
	}
	cmd := exec.CommandContext(ctx, lines[len(lines)-1], "test/bench/reference/columns.py")
	cmd.Stdin = &in
	if out, err = cmd.Output(); err != nil {
		return nil, fmt.Errorf("running pcodec: %w", err)
	}
	found := map[string]packing{}
	for line := range strings.Lines(string(out)) {
		var name string
		var size, encode, decode float64
		if _, err := fmt.Sscan(line, &name, &size, &encode, &decode); err != nil {
			return nil, fmt.Errorf("parsing the output of pcodec: %w", err)
		}
		p := found[name]
		found[name] = packing{p.size + size/codecSamples, p.encode + encode/codecSamples, p.decode + decode/codecSamples}
	}
	return found, nil
}
