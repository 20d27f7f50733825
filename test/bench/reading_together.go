package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/test/archive"
)

const (
	readers      = 200
	incomingRate = 100_000 // samples/s
	incomingPVs  = 1000
)

// readTogether lets many readers read at once while samples come in. Each reader reads all samples of
// one PV after another, and waits as Retry-After says if the archive is busy. It reports the time of a
// read with these waits, and how many of the samples that came in are not in the archive.
func (b *bench) readTogether(ctx context.Context, l *loader, base string) error {
	b.logf("reading: %d readers at once, and %d samples/s, %v", readers, incomingRate, b.seconds)
	stopSealing := l.sealing(ctx)
	var stop atomic.Bool
	var sent int64
	writer, writing := errgroup.WithContext(ctx)
	incoming := archive.Names("INCOMING:", incomingPVs)
	l.open(incoming)
	begun := time.Now()
	writer.Go(func() error {
		rng := rand.New(rand.NewPCG(7, 1))
		for ; !stop.Load() && writing.Err() == nil; sent++ {
			if due := begun.Add(time.Duration(sent) * time.Second / incomingRate); sent%incomingPVs == 0 && time.Until(due) > 0 {
				time.Sleep(time.Until(due))
			}
			s := reading(rng, sent)
			s.Time = begun.UnixNano() + sent*1e9/incomingRate
			l.append(incoming[sent%incomingPVs], s)
		}
		return writing.Err()
	})
	times, retries, err := b.readAtOnce(ctx, base)
	stop.Store(true)
	err = firstOf(err, writer.Wait())
	took := time.Since(begun).Seconds()
	stopSealing()
	if err = firstOf(err, l.seal(ctx)); err != nil {
		return err
	}
	stored := 0
	for _, pv := range incoming {
		n, err := l.read(ctx, pv, begun.UnixNano(), time.Now().UnixNano())
		if err != nil {
			return err
		}
		stored += n
	}
	slices.Sort(times)
	b.report.atLeast("reading.together_incoming", float64(sent)/took, incomingRate)
	b.report.atMost("reading.together_lost", "samples", math.Abs(float64(sent-int64(stored))), 0) // none is stored twice, either
	b.report.rate("reading.together_rate", float64(len(times)*readSamples)/took, 0, "")
	b.report.cost("reading.together_p50", "s", times[len(times)/2], 0, "")
	b.report.cost("reading.together_p99", "s", times[len(times)*99/100], 0, "")
	b.report.cost("reading.together_retries", "answers", float64(retries), 0, "")
	return nil
}

// readAtOnce reads with all readers, and returns how long each read took in seconds, and how many
// requests were told to come again.
func (b *bench) readAtOnce(ctx context.Context, base string) (times []float64, retries int64, err error) {
	pvs, end := archive.Names("READ:", readPVs), time.Now().Add(b.seconds)
	of := make([][]float64, readers)
	var again atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for i := range readers {
		g.Go(func() error {
			for k := i; time.Now().Before(end); k += readers {
				begun := time.Now()
				path := base + "/retrieval/data/getData.raw?pv=" + pvs[k%readPVs] + span(readEpoch, readEpoch+(readSamples-1)*1e8)
				n, err := fetchPatiently(ctx, path)
				if err != nil {
					return err
				}
				again.Add(n)
				of[i] = append(of[i], time.Since(begun).Seconds())
			}
			return nil
		})
	}
	err = g.Wait()
	return slices.Concat(of...), again.Load(), err
}

// fetchPatiently repeats a request for as long as the archive is busy. It returns how often.
func fetchPatiently(ctx context.Context, path string) (retries int64, err error) {
	for {
		code, wait, err := fetch(ctx, path, nil, wanted{readSamples + 1, "\n"})
		if code != http.StatusTooManyRequests {
			return retries, err
		}
		seconds, failed := strconv.Atoi(wait)
		if failed != nil {
			return retries, fmt.Errorf("the archive does not say when to come again: %w", err)
		}
		retries++
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-ctx.Done():
			return retries, ctx.Err()
		}
	}
}
