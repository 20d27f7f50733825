package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/archive"
)

// These constants are the best results of several databases in the evaluation for HALF's
// archiver. There, one thread wrote or read 2,000 PVs at 10 Hz.
const (
	hdasPVs   = 2_000
	hdasWrite = 0.15e6 // samples/s, InfluxDB
	hdasRead  = 1.4e6  // samples/s, TimescaleDB
)

const (
	hdasEpoch = 1_700_006_400e9
	hdasStep  = 1e8 // ns
	hdasLong  = 10_000_000
)

// hdas writes batches of samples of all PVs with one thread. It then reads one PV that has many
// samples, also with one thread.
func (b *bench) hdas(ctx context.Context) error {
	return b.withNode(ctx, func(n *node) (err error) {
		l, err := openLoader(ctx, n.addr, "hdas", 1, ampleMemory)
		if err != nil {
			return err
		}
		defer func() { err = firstOf(err, l.close()) }()
		rng := rand.New(rand.NewPCG(2, 3))
		for _, steps := range []int{60, 600} {
			if err := b.hdasWrite(ctx, l, rng, steps); err != nil {
				return err
			}
		}
		b.logf("like HDAS: a PV with %d samples", hdasLong)
		const pv = "HDAS:LONG"
		l.open([]string{pv})
		for i := range int64(hdasLong) {
			l.append(pv, reading(rng, i))
			if i%1e6 == 1e6-1 {
				if err := l.seal(ctx); err != nil {
					return err
				}
			}
		}
		// Read without measuring first, so that the JVM compiles the code that runs often.
		// The JVM of a server in use has already compiled it.
		for begun := time.Now(); time.Since(begun) < b.seconds/2; {
			if _, err := l.read(ctx, pv, hdasEpoch+rng.Int64N(hdasLong)*hdasStep, hdasEpoch+hdasLong*hdasStep); err != nil {
				return err
			}
		}
		for _, samples := range []int64{14_400, 72_000, 360_000, hdasLong} {
			if err := b.hdasRead(ctx, n, l, pv, "historical", 0, samples); err != nil {
				return err
			}
			if err := b.hdasRead(ctx, n, l, pv, "latest", hdasLong-samples, samples); err != nil {
				return err
			}
		}
		return nil
	})
}

// reading returns sample i of a 12-bit ADC. Its time jitters by up to 20 µs.
func reading(rng *rand.Rand, i int64) *sample.Sample {
	value := math.Round((5+rng.NormFloat64()/10)*4096/10) / 4096 * 10
	return &sample.Sample{Time: hdasEpoch + i*hdasStep + rng.Int64N(20000), Word: math.Float64bits(value)}
}

// hdasWrite appends batches with the given number of steps of all PVs, and waits until each
// batch is durable.
func (b *bench) hdasWrite(ctx context.Context, l *loader, rng *rand.Rand, steps int) error {
	b.logf("like HDAS: batches of %d PVs, %v at 10 Hz", hdasPVs, time.Duration(steps)*100*time.Millisecond)
	pvs := archive.Names(fmt.Sprintf("HDAS:%d:", steps), hdasPVs)
	l.open(pvs)
	ready := make([]*sample.Sample, steps) // created in advance, so that only the archiver's work is measured
	samples, first := 0, int64(0)
	var busy time.Duration
	cpu := 0.0
	for begun := time.Now(); time.Since(begun) < b.seconds; first += int64(steps) {
		for i := range ready {
			ready[i] = reading(rng, first+int64(i))
		}
		start, used := time.Now(), cpuSeconds()
		for _, pv := range pvs {
			for _, s := range ready {
				l.append(pv, s)
			}
		}
		if err := l.sync(ctx); err != nil {
			return err
		}
		busy += time.Since(start)
		cpu += cpuSeconds() - used
		samples += len(pvs) * steps
		if samples%(10*len(pvs)*steps) == 0 {
			if err := l.seal(ctx); err != nil {
				return err
			}
		}
	}
	name := fmt.Sprintf("hdas.write_%d", steps*hdasPVs)
	b.report.rate(name, float64(samples)/busy.Seconds(), hdasWrite, "of InfluxDB for HDAS")
	b.report.cost(name+"_cpu", "µs/sample", cpu*1e6/float64(samples), 0, "")
	return l.seal(ctx)
}

// hdasRead reads n samples, beginning with sample number first, several times.
func (b *bench) hdasRead(ctx context.Context, node *node, l *loader, pv, what string, first, n int64) error {
	from := int64(hdasEpoch) + first*hdasStep
	read, begun, used := int64(0), time.Now(), node.usage()
	for read == 0 || time.Since(begun) < b.seconds/10 {
		got, err := l.read(ctx, pv, from, from+n*hdasStep-1)
		if err != nil {
			return err
		}
		if int64(got) != n {
			return fmt.Errorf("%s has %d samples in a range, want %d", pv, got, n)
		}
		read += n
	}
	name := fmt.Sprintf("hdas.read_%s_%d", what, n)
	b.report.rate(name, float64(read)/time.Since(begun).Seconds(), hdasRead, "of TimescaleDB for HDAS")
	b.report.cpu(name, node.usage().since(used), float64(read))
	return nil
}
