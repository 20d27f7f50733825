package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/sample"
)

// J-PARC's evaluation of HBase stored a day of 10,000 PVs at 1 Hz, with names of 30 random
// characters and with random float64 values. At best, the samples were written in 54 minutes.
// Five clients then read 10 PVs each, at best in 7 s.
const (
	jparcPVs     = 10_000
	jparcDay     = 86_400
	jparcRate    = jparcPVs * jparcDay / (54 * 60) // samples/s
	jparcBytes   = 55                              // per sample
	jparcClients = 5
	jparcOf      = 10 // PVs per client
	jparcRead    = jparcOf * jparcDay / 7.0

	// jparcBatch is the number of seconds of samples in a batch. While a batch becomes
	// durable, the next one is appended.
	jparcBatch = 50
	// jparcSealed is the number of seconds of samples that are sealed at once. A sealer finds
	// about as many when its engine is fed as fast as possible.
	jparcSealed = 2500
	// jparcRounds is the number of times that the clients repeat their reads.
	jparcRounds = 5
)

const jparcEpoch = 1_700_006_400 // a midnight

// jparc stores data like J-PARC's, and reads it like J-PARC's clients. By default, it stores
// only the beginning of the day. The PVs that the clients read always get the whole day.
func (b *bench) jparc(ctx context.Context) error {
	return b.withNode(ctx, func(n *node) (err error) {
		if err := b.jparcWarm(ctx, n); err != nil {
			return err
		}
		l, err := openLoader(ctx, n.addr, "jparc", 8, engineMemory)
		if err != nil {
			return err
		}
		defer func() { err = firstOf(err, l.close()) }()
		rng := rand.New(rand.NewPCG(30, 1))
		pvs := randomNames(rng, jparcPVs)
		l.open(pvs)
		if err := b.jparcWrite(ctx, n, l, rng, pvs); err != nil {
			return err
		}
		read := pvs[:jparcClients*jparcOf]
		for from := b.jparcSeconds; from < jparcDay; from += jparcSealed {
			if err := b.jparcFeed(ctx, l, rng, read, from, min(from+jparcSealed, jparcDay)); err != nil {
				return err
			}
			if err := l.seal(ctx); err != nil {
				return err
			}
		}
		if err := n.compact(ctx, "jparc", "block_forever"); err != nil {
			return err
		}
		size, err := n.size(ctx, "jparc", "block_forever")
		if err != nil {
			return err
		}
		samples := jparcPVs*b.jparcSeconds + len(read)*(jparcDay-b.jparcSeconds)
		b.report.cost("jparc.stored", "B/sample", float64(size)/float64(samples), jparcBytes, "of HBase at J-PARC")
		return b.jparcRead(ctx, n, l, read)
	})
}

// jparcWarm writes samples for about a minute without measuring. A server that was just started
// spends most of its time on compiling its code. Over a whole day, this time does not matter.
func (b *bench) jparcWarm(ctx context.Context, n *node) (err error) {
	l, err := openLoader(ctx, n.addr, "warm", 8, engineMemory)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, l.close()) }()
	rng := rand.New(rand.NewPCG(30, 0))
	pvs := randomNames(rng, jparcPVs)
	l.open(pvs)
	b.logf("like J-PARC: warming up")
	for from := 0; from < b.jparcWarmUp; from += jparcBatch {
		if err := b.jparcFeed(ctx, l, rng, pvs, from, from+jparcBatch); err != nil {
			return err
		}
		if from%500 == 0 {
			if err := l.seal(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// jparcWrite writes samples of all PVs, and measures the time until all of them are in blocks.
func (b *bench) jparcWrite(ctx context.Context, n *node, l *loader, rng *rand.Rand, pvs []string) error {
	b.logf("like J-PARC: %d PVs at 1 Hz, for %d s", jparcPVs, b.jparcSeconds)
	begun, used := time.Now(), n.usage()
	stop := l.sealing(ctx)
	err := b.jparcFeed(ctx, l, rng, pvs, 0, b.jparcSeconds)
	stop()
	if err = firstOf(err, l.seal(ctx)); err != nil {
		return err
	}
	samples := float64(jparcPVs * b.jparcSeconds)
	took := time.Since(begun)
	b.report.rate("jparc.write_rate", samples/took.Seconds(), jparcRate, "of HBase at J-PARC")
	b.report.cost("jparc.whole_day_in", "s, at this rate", jparcPVs*jparcDay*took.Seconds()/samples, 54*60, "of HBase at J-PARC")
	b.report.cpu("jparc.write", n.usage().since(used), samples)
	return nil
}

// jparcFeed appends the samples of a part of the day, in seconds, and waits until all are
// durable.
func (b *bench) jparcFeed(ctx context.Context, l *loader, rng *rand.Rand, pvs []string, from, to int) error {
	var durable errgroup.Group
	for s := from; s < to; s++ {
		at := int64(jparcEpoch+s) * 1e9
		for _, pv := range pvs {
			l.append(pv, &sample.Sample{Time: at, Word: math.Float64bits(rng.Float64())})
		}
		if (s+1)%jparcBatch == 0 { // wait for the previous batch, and start to sync this one
			if err := firstOf(durable.Wait(), l.room(ctx)); err != nil {
				return err
			}
			durable.Go(func() error { return l.sync(ctx) })
		}
	}
	return firstOf(durable.Wait(), l.sync(ctx))
}

// jparcRead runs the clients at the same time. Each client reads a day of its own PVs. The
// first round is reported separately, because the server has not read anything before it.
func (b *bench) jparcRead(ctx context.Context, n *node, l *loader, pvs []string) error {
	first, err := b.jparcRound(ctx, l, pvs)
	if err != nil {
		return err
	}
	times, used := make([]float64, jparcRounds), n.usage()
	for i := range times {
		if times[i], err = b.jparcRound(ctx, l, pvs); err != nil {
			return err
		}
	}
	took := n.usage().since(used)
	slices.Sort(times)
	slowest := times[len(times)/2]
	b.report.rate("jparc.read_rate", jparcOf*jparcDay/slowest, jparcRead, "of each of 5 clients at J-PARC")
	b.report.cost("jparc.read_time", "s, the slowest client", slowest, 7, "of J-PARC's clients at best")
	b.report.cost("jparc.read_first_time", "s, the slowest client", first, 0, "")
	b.report.cpu("jparc.read", took, jparcRounds*jparcClients*jparcOf*jparcDay)
	return nil
}

// jparcRound runs all clients once and returns the number of seconds that the slowest one
// took.
func (b *bench) jparcRound(ctx context.Context, l *loader, pvs []string) (slowest float64, err error) {
	times := make([]float64, jparcClients)
	var g errgroup.Group
	for i := range jparcClients {
		g.Go(func() error {
			begun := time.Now()
			for _, pv := range pvs[i*jparcOf : (i+1)*jparcOf] {
				n, err := l.read(ctx, pv, jparcEpoch*1e9, int64(jparcEpoch+jparcDay)*1e9)
				if err != nil {
					return err
				}
				if n != jparcDay {
					return fmt.Errorf("%s has %d samples, want %d", pv, n, jparcDay)
				}
			}
			times[i] = time.Since(begun).Seconds()
			return nil
		})
	}
	err = g.Wait()
	return slices.Max(times), err
}

// randomNames returns n names of 30 random letters.
func randomNames(rng *rand.Rand, n int) []string {
	names := make([]string, n)
	for i := range names {
		name := make([]byte, 30)
		for k := range name {
			name[k] = byte('A' + rng.IntN(26))
		}
		names[i] = string(name)
	}
	return names
}

// diskUse returns the total size in bytes of the files below the directories that match a
// pattern.
func diskUse(pattern string) (sum int64, err error) {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return present(err)
			}
			info, err := d.Info()
			if err == nil {
				sum += info.Size()
			}
			return present(err)
		})
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// present returns err, or nil if err means that a file was deleted in the meantime.
func present(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
