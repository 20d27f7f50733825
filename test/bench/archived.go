package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/test/archive"
)

// archive stores the PVs of the real IOC, which count, for some seconds, and reads
// them back: every step must be there once.
func (b *bench) archive(ctx context.Context, env []string, provider capture.Provider, channels int) (f flow, err error) {
	b.say("varve standalone: the same %d PVs", channels)
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
	b.say("reading them back")
	f.lost, err = missing(addr, pvs, time.Now().Add(-b.seconds))
	return f, err
}

// missing counts the steps of PVs that are not in the archive since a time.
func missing(addr string, pvs []string, since time.Time) (float64, error) {
	c := archive.NewClient("http://"+addr, time.Minute)
	lost := make([]int, len(pvs))
	var g errgroup.Group
	g.SetLimit(4)
	for i, pv := range pvs {
		g.Go(func() error {
			events, err := c.Events(pv, since)
			if err != nil {
				return err
			}
			if len(events) < 2 {
				return fmt.Errorf("%s has %d samples", pv, len(events))
			}
			holes, err := archive.Holes(events)
			for _, h := range holes {
				lost[i] += h.Missing()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, n := range lost {
		sum += float64(n)
	}
	return sum, nil
}

// writeList writes ArchiveGroups of PVs of a provider, 1,000 in each.
func writeList(dir string, provider capture.Provider, pvs []string) error {
	named := make([]string, len(pvs))
	for i, pv := range pvs {
		named[i] = provider.String() + "://" + pv
	}
	return writeGroups(dir, named)
}
