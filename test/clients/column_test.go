package clients

import (
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	"varve.dev/varve/engine/sample"
)

// counter counts the bytes of the answers of a handler.
type counter struct {
	http.Handler
	sent atomic.Int64
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.Handler.ServeHTTP(&countingWriter{w, c}, r)
}

type countingWriter struct {
	http.ResponseWriter
	c *counter
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.c.sent.Add(int64(n))
	return n, err
}

// month is a PV with a month of readings of an ADC, one a second.
func month() (p pv, sum float64) {
	const days = 31
	p = newPV("T:MONTH", sample.Float64)
	p.perBlock = 4096
	rng := rand.New(rand.NewPCG(1, 31))
	for i := range int64(days * 24 * 3600) {
		v := math.Round(2048+100*rng.NormFloat64()) / 4096
		p.run.Append(&sample.Sample{Time: newYear + i*1e9 + rng.Int64N(20_000), Word: math.Float64bits(v)})
		sum += v
	}
	return p, sum
}

// TestLong_AColumnIsReadWithoutTheRest checks that pandas, polars and DuckDB read one column of a month of
// files, and that the server sends much less than the files for it. polars decides by itself how much
// of a small file it requests, so its bytes are only printed.
func TestLong_AColumnIsReadWithoutTheRest(t *testing.T) {
	p, sum := month()
	c := &counter{Handler: handler(t, []pv{p})}
	base := listen(t, c).String()
	for _, program := range []string{"pandas", "polars", "DuckDB", "DuckDB with httpfs"} {
		before := c.sent.Load()
		var got columnRead
		if program == "DuckDB with httpfs" {
			pythonOf(t, "duckdb", &got, "testdata/httpfs.py", "column", base, p.name)
		} else {
			python(t, &got, "testdata/column.py", program, base, p.name)
		}
		sent := c.sent.Load() - before
		if got.Count != p.run.Len() || math.Abs(got.Sum-sum) > 1e-6*sum {
			t.Errorf("%s reads %d values with the sum %g, want %d with %g", program, got.Count, got.Sum, p.run.Len(), sum)
		}
		t.Logf("%s: %d samples; the server sent %d bytes of %d, %.0f %%", program, got.Count, sent, got.Files, 100*float64(sent)/float64(got.Files))
		if program != "polars" && sent >= got.Files*3/4 {
			t.Errorf("for one column, %s gets %d bytes; all files have %d", program, sent, got.Files)
		}
	}
	before := c.sent.Load()
	var hour columnRead
	pythonOf(t, "duckdb", &hour, "testdata/httpfs.py", "hour", base, p.name)
	sent := c.sent.Load() - before
	t.Logf("DuckDB with httpfs reads an hour: %d samples; the server sent %d bytes of %d, %.0f %%", hour.Count, sent, hour.Files, 100*float64(sent)/float64(hour.Files))
	if hour.Count != 3600 || sent >= hour.Files/4 {
		t.Errorf("for an hour with %d samples, DuckDB gets %d bytes; all files have %d", hour.Count, sent, hour.Files)
	}
}

// columnRead is what a program has read, and the bytes of all files.
type columnRead struct {
	Count int
	Sum   float64
	Files int64
}
