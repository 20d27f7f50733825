package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/test/archive"
)

// archive runs varve standalone on the counting PVs of the real IOC for the length of a
// measurement. It then kills the IOC and reads the PVs back, to count the steps that are
// missing.
func (b *bench) archive(ctx context.Context, ioc *process, env []string, provider capture.Provider, channels int) (f flow, err error) {
	b.logf("varve standalone: the same %d PVs", channels)
	dir := filepath.Join(b.dir, "wire-"+provider.String())
	pvs := archive.Names("B:", channels)
	if err := writeList(filepath.Join(dir, "groups"), provider, pvs); err != nil {
		return f, err
	}
	addr, err := freeAddr()
	if err != nil {
		return f, err
	}
	p, err := start(dir, "standalone", env, b.varve, "standalone", "-f", filepath.Join(dir, "groups"), "--listen", addr,
		"--data", filepath.Join(dir, "data"), "--checkpoint", "6h")
	if err != nil {
		return f, err
	}
	defer func() { err = firstOf(err, p.stop()) }()
	if f, err = b.observe(ctx, addr, channels); err != nil {
		return f, err
	}
	if err := ioc.kill(); err != nil {
		return f, err
	}
	b.logf("reading them back")
	return f, b.account(addr, pvs, time.Now().Add(-b.seconds), &f)
}

// account reads PVs since a time. It counts the steps that are missing in the archive, and the
// missing steps that no mark explains.
func (b *bench) account(addr string, pvs []string, since time.Time, f *flow) error {
	c := archive.NewClient("http://"+addr, time.Minute)
	var lost, unmarked, read atomic.Int64
	var g errgroup.Group
	g.SetLimit(4)
	for _, pv := range pvs {
		g.Go(func() error {
			events, err := c.Events(pv, since)
			if err != nil {
				return err
			}
			if len(events) < 2 {
				return fmt.Errorf("%s has %d samples", pv, len(events))
			}
			read.Add(int64(len(events)))
			holes, err := archive.Holes(events)
			if err != nil || len(holes) == 0 {
				return err
			}
			marks, err := c.Marks(pv, since.Add(-time.Minute))
			for _, h := range holes {
				lost.Add(int64(h.Missing()))
				unmarked.Add(int64(len(h.Unmarked(marks))))
			}
			return err
		})
	}
	err := g.Wait()
	f.read, f.lost, f.unmarked = float64(read.Load()), float64(lost.Load()), float64(unmarked.Load())
	return err
}

// writeList writes manifests of ArchiveGroups with the PVs of a provider, 1,000 PVs in each.
func writeList(dir string, provider capture.Provider, pvs []string) error {
	named := make([]string, len(pvs))
	for i, pv := range pvs {
		named[i] = provider.String() + "://" + pv
	}
	return writeGroups(dir, named)
}
