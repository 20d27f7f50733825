// Command bench measures Varve as users run it. It compares the results with published results
// of other archivers and with a row-per-sample writer in the same run:
//
//	varve ioc ──CA──▶ varve standalone ──▶ Pebble, or a real Cassandra
//	                        │ /metrics
//	row-per-sample writer ──┼──▶ the same Cassandra
//	block codec ────────────┴──▶ table, JSON lines (BENCH_JSON)
//
// All programs share the cores of one machine, so compare ratios instead of absolute numbers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// bench is one run of all benchmarks.
type bench struct {
	dir, varve string
	seconds    time.Duration // length of a measurement
	channels   int
	// wireChannels is the number of channels of the real IOC for Channel Access. For pvAccess,
	// the IOC has a tenth of them.
	wireChannels int
	only         string
	jparcSeconds int // number of seconds of J-PARC's day to store
	jparcWarmUp  int // number of seconds of samples to store before the measurement
	profile      string
	report       report
}

func main() {
	b := &bench{}
	flag.DurationVar(&b.seconds, "length", 20*time.Second, "length of each measurement")
	flag.IntVar(&b.channels, "channels", 10000, "number of channels")
	flag.IntVar(&b.wireChannels, "wire-channels", 20000, "number of channels of a real IOC, at 10 Hz")
	flag.IntVar(&b.jparcSeconds, "jparc-seconds", 2000, "number of seconds of J-PARC's day to store, with 10,000 samples each; the whole day has 86400")
	flag.IntVar(&b.jparcWarmUp, "jparc-warm-up", 3000, "number of seconds of samples to store before measuring, because a server that was just started is slow")
	flag.StringVar(&b.only, "only", "", "the only part to measure: codec, pebble, cassandra, jparc, hdas, draw, reading, ca, pva")
	flag.StringVar(&b.profile, "cpuprofile", "", "file for a CPU profile of this process, which is the archiver in the parts jparc, hdas and reading")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Measures Varve and prints a table; BENCH_JSON=FILE also saves it as JSON lines.\n  example: go run ./test/bench -length 5s")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "varve-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	b.varve = filepath.Join(b.dir, "varve")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.varve, "./cmd/varve").CombinedOutput(); err != nil {
		return fmt.Errorf("building varve: %w\n%s", err, out)
	}
	if err := b.profiled(ctx); err != nil {
		return err
	}
	if err := b.report.table(os.Stdout); err != nil {
		return err
	}
	if path := os.Getenv("BENCH_JSON"); path != "" {
		return b.report.save(path)
	}
	return nil
}

// profiled runs the parts, with the CPU profiler if -cpuprofile is set.
func (b *bench) profiled(ctx context.Context) error {
	if b.profile == "" {
		return b.parts(ctx)
	}
	f, err := os.Create(b.profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return firstOf(err, f.Close())
	}
	err = b.parts(ctx)
	pprof.StopCPUProfile()
	return firstOf(err, f.Close())
}

// parts runs all parts, or only the part that -only names.
func (b *bench) parts(ctx context.Context) error {
	known := false
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"codec", b.codec}, {"pebble", b.pebble}, {"cassandra", b.cassandra}, {"jparc", b.jparc}, {"hdas", b.hdas}, {"draw", b.draw}, {"reading", b.reading}, {"ca", b.wireCA}, {"pva", b.wirePVA}} {
		if b.only != "" && b.only != part.name {
			continue
		}
		known = true
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("measuring %s: %w", part.name, err)
		}
	}
	if !known {
		return fmt.Errorf("-only: there is no part %q", b.only)
	}
	return nil
}

// These constants are results of other archivers. docs/benchmarks.md names their sources.
const (
	marschingRate = 79691 // samples/s of the Cassandra Archiver, one Cassandra node
	applianceCPU  = 19    // µs of CPU per sample of the Archiver Appliance
)

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

func (b *bench) pebble(ctx context.Context) error {
	b.logf("as fast as possible into Pebble, %v", b.seconds)
	f, err := b.measure(ctx, "pebble", load{channels: b.channels}, "--data", filepath.Join(b.dir, "pebble", "data"))
	if err != nil {
		return err
	}
	b.flow("pebble", f, marschingRate, "of the Cassandra Archiver")
	return nil
}

// flow reports the results of an archiver under a load.
func (b *bench) flow(name string, f flow, rate float64, of string) {
	b.report.rate(name+".durable_rate", f.stored, rate, of)
	b.report.cost(name+".engine_cpu", "µs/sample", f.cpu, applianceCPU, "of the Archiver Appliance")
	b.report.cost(name+".engine_cores", "cores", f.cores, 0, "")
	b.report.cost(name+".engine_allocs", "allocs/sample", f.allocs, 0, "")
	b.report.cost(name+".journal_bytes", "B/sample", f.perSample, 0, "")
}

func (b *bench) cassandra(ctx context.Context) error {
	return b.withNode(ctx, func(n *node) error {
		single, batched, err := b.rows(ctx, n.addr)
		if err != nil {
			return err
		}
		b.logf("as fast as possible into Cassandra, %v", b.seconds)
		full, err := b.measure(ctx, "cassandra", load{channels: b.channels}, "--cassandra", n.addr)
		if err != nil {
			return err
		}
		b.report.rate("rows.single_rate", single, 0, "")
		b.report.rate("rows.batch_rate", batched, 0, "")
		b.flow("cassandra", full, marschingRate, "of the Cassandra Archiver")
		b.report.rate("cassandra.over_single_rows", full.stored, single, "one row per sample, this run")
		b.report.rate("cassandra.over_batched_rows", full.stored, batched, "batches of 100 rows, this run")
		b.logf("%d channels at 10 Hz into Cassandra, %v", 3*b.channels, b.seconds)
		paced, err := b.measure(ctx, "paced", load{channels: 3 * b.channels, rate: 10}, "--cassandra", n.addr, "--cassandra-keyspace", "paced")
		if err != nil {
			return err
		}
		b.flow("cassandra_10hz", paced, marschingRate, "of the Cassandra Archiver")
		return nil
	})
}

// rows measures the row-per-sample writer, with single rows and with batches.
func (b *bench) rows(ctx context.Context, addr string) (single, batched float64, err error) {
	b.logf("one row per sample into Cassandra, %v", b.seconds)
	w, err := openRows(addr)
	if err != nil {
		return 0, 0, err
	}
	defer w.close()
	if single, err = w.rate(ctx, 1, b.seconds/2); err != nil {
		return 0, 0, err
	}
	batched, err = w.rate(ctx, rowBatch, b.seconds/2)
	return single, batched, err
}
