package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"varve.dev/varve/engine/migration"
)

// progressEvery is the interval of the lines that say how far an import is.
const progressEvery = 5 * time.Second

// importProgress imports or verifies all PVs of a source, sums up their reports, and prints progress.
type importProgress struct {
	errs      io.Writer
	out       io.Writer // receives a line of JSON for each PV
	importer  *migration.Importer
	source    *importSource
	pvs       []string
	began     time.Time
	before    [3]int64 // samples, files and bytes that were read before
	verifying bool
	stop      context.CancelCauseFunc // ends run

	mu        sync.Mutex
	done      int    // PVs
	ended     int    // PVs whose import ended early
	months    int    // that were compared
	differing uint64 // months that differ
	total     migration.Report
	failed    error
}

func newImportProgress(errs, out io.Writer, m *migration.Importer, src *importSource) *importProgress {
	p := &importProgress{errs: errs, out: out, importer: m, source: src, pvs: src.PVs(), began: time.Now()}
	p.before = [3]int64{m.Progress.Samples.Load(), m.Progress.Files.Load(), m.Progress.Bytes.Load()}
	return p
}

// run calls do for each PV, for as many at a time as the source allows. It ends early if ctx ends, or if the archive
// refuses the import.
func (p *importProgress) run(ctx context.Context, do func(context.Context, migration.Source, string, func(*migration.Report, error))) {
	ctx, p.stop = context.WithCancelCause(ctx)
	defer p.stop(nil)
	shown, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.show()
			case <-stop:
				return
			}
		}
	}()
	pvs := make(chan string)
	var workers sync.WaitGroup
	for range p.source.workers {
		workers.Go(func() {
			for pv := range pvs {
				do(ctx, p.source, pv, p.add)
			}
		})
	}
	for _, pv := range p.pvs {
		select {
		case pvs <- pv:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(pvs)
	workers.Wait()
	if err := p.importer.Finish(); err != nil {
		p.fail(err)
	}
	close(stop)
	<-shown
}

// fail ends the import with an error.
func (p *importProgress) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil && !errors.Is(err, context.Canceled) {
		p.failed = err
	}
	p.stop(err)
}

// add adds the report of a PV.
func (p *importProgress) add(r *migration.Report, err error) {
	if errors.Is(err, migration.ErrArchive) || errors.Is(err, migration.ErrNoLeader) {
		p.fail(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if err != nil {
		p.ended++
	}
	if err != nil && p.failed == nil {
		fmt.Fprintf(p.errs, "%s: %v\n", r.PV, err)
	}
	t := &p.total
	t.Read, t.Stored, t.Present = t.Read+r.Read, t.Stored+r.Stored, t.Present+r.Present
	t.Expired, t.Damaged = t.Expired+r.Expired, t.Damaged+r.Damaged
	t.Deleted, t.Outside = t.Deleted+r.Deleted, t.Outside+r.Outside
	p.months += len(r.Months)
	for _, m := range r.Differs() {
		p.differing++
		fmt.Fprintf(p.errs, "%s: %s: the source has %d samples, of which the archive has %d\n", r.PV, m.Month, m.Source.Count, m.Archive.Count)
	}
	for _, bad := range r.Problems {
		if !p.verifying { // the import has named them
			fmt.Fprintln(p.errs, bad)
		}
	}
	for _, note := range r.Notes {
		if !p.verifying {
			fmt.Fprintf(p.errs, "%s: %s\n", r.PV, note)
		}
	}
	if err := json.NewEncoder(p.out).Encode(r); err != nil && p.failed == nil {
		p.failed = fmt.Errorf("writing the report: %w", err)
	}
}

// show prints how far the import is, and when it will be done if the source is read as fast as before.
func (p *importProgress) show() {
	samples := p.importer.Progress.Samples.Load() - p.before[0]
	files, bytes := p.importer.Progress.Files.Load()-p.before[1], p.importer.Progress.Bytes.Load()-p.before[2]
	took := time.Since(p.began)
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.errs, "%d of %d PVs, ", p.done, len(p.pvs))
	done, all := int64(p.done), int64(len(p.pvs))
	if p.source.size > 0 {
		fmt.Fprintf(p.errs, "%d of %d files, %d of %d MB, ", files, p.source.files, bytes/1e6, p.source.size/1e6)
		done, all = bytes, p.source.size
	}
	left := "unknown"
	if done > 0 {
		left = time.Duration(float64(took) / float64(done) * float64(max(all-done, 0))).Round(time.Second).String()
	}
	fmt.Fprintf(p.errs, "%d samples read, %.0f samples/s, ", samples, float64(samples)/took.Seconds())
	if n := p.importer.Progress.Waiting.Load(); n > 0 {
		fmt.Fprintf(p.errs, "%d not sealed yet, ", n)
	}
	fmt.Fprintf(p.errs, "time left: %s\n", left)
}

// damaged returns how many lines, rows and PVs could not be imported.
func (p *importProgress) damaged() uint64 { return p.total.Damaged + uint64(p.ended) }

// print prints the sums.
func (p *importProgress) print(w io.Writer, skipped int, dryRun bool) error {
	verb := "stored"
	if dryRun {
		verb = "to be stored"
	}
	t := &p.total
	_, err := fmt.Fprintf(w, "%d of %d PVs: %d samples read, %d %s, %d in the archive before, %d older than their retention", p.done, len(p.pvs),
		t.Read, t.Stored, verb, t.Present, t.Expired)
	if before, found := p.importer.Cutoff(); err == nil && found {
		_, err = fmt.Fprintf(w, ", %d before the archive's deletion cutoff %s", t.Deleted, time.Unix(0, before).UTC().Format(time.RFC3339))
	}
	if t.Outside > 0 && err == nil {
		_, err = fmt.Fprintf(w, ", %d outside of the times to import", t.Outside)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "; %d %s damaged, %d %s skipped, %d PVs incomplete; %.1f s\n", t.Damaged, p.source.lines, skipped, p.source.things, p.ended, time.Since(p.began).Seconds())
	}
	return err
}

// printVerified prints the result of a verification.
func (p *importProgress) printVerified(w io.Writer) error {
	_, err := fmt.Fprintf(w, "verified %d of %d PVs: %d samples of the source are in the archive; %d of %d months differ, %d PVs incomplete; %.1f s\n",
		p.done, len(p.pvs), p.total.Present, p.differing, p.months, p.ended, time.Since(p.began).Seconds())
	return err
}
