package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/ioc"
)

// load describes the updates that the simulated IOC sends.
type load struct {
	channels int
	rate     float64 // updates per second of a channel; 0: as fast as possible
}

// flow holds the measurements of an archiver under a load.
type flow struct {
	stored    float64 // acknowledged samples per second
	cpu       float64 // CPU time of the engine per sample in µs
	allocs    float64 // allocations per sample
	perSample float64 // bytes in the journal per sample
	cores     float64
	read      float64 // samples read back
	lost      float64 // steps that are missing in the archive
	unmarked  float64 // missing steps that no mark explains
}

// measure runs `varve ioc` and `varve standalone` in separate processes, as users do, and
// measures how varve standalone archives the load.
func (b *bench) measure(ctx context.Context, name string, l load, storage ...string) (f flow, err error) {
	dir := filepath.Join(b.dir, name)
	names, err := ioc.Config{Kinds: []string{"NOISE"}, Channels: l.channels}.Names()
	if err != nil {
		return f, err
	}
	if err := writeGroups(filepath.Join(dir, "groups"), slices.Collect(names)); err != nil {
		return f, err
	}
	iocAddr, err := freeAddr()
	if err != nil {
		return f, err
	}
	addr, err := freeAddr()
	if err != nil {
		return f, err
	}
	sim, err := start(dir, "ioc", nil, b.varve, "ioc", "--listen", iocAddr, "--pva-listen=", "--kinds", "NOISE",
		"--channels", fmt.Sprint(l.channels), "--rate", fmt.Sprint(l.rate))
	if err != nil {
		return f, err
	}
	defer func() { err = firstOf(err, sim.stop()) }()
	env := []string{"EPICS_CA_ADDR_LIST=" + iocAddr, "EPICS_CA_AUTO_ADDR_LIST=NO"}
	args := append([]string{"standalone", "-f", filepath.Join(dir, "groups"), "--listen", addr}, storage...)
	arch, err := start(dir, "standalone", env, b.varve, args...)
	if err != nil {
		return f, err
	}
	defer func() { err = firstOf(err, arch.stop()) }()
	return b.observe(ctx, addr, l.channels)
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// observe waits until all channels are connected and the start is over. It then compares the
// counters before and after the time of a measurement.
func (b *bench) observe(ctx context.Context, addr string, channels int) (f flow, err error) {
	connected := func() bool {
		m, err := scrape(ctx, addr)
		return err == nil && int(m[`varve_capture_channels{state="connected"}`]) == channels
	}
	if err := await(ctx, "all channels are connected", time.Minute, connected); err != nil {
		return f, err
	}
	// The start is over when the marks and metadata of all channels are stored.
	written := -1.0
	unchanged := func() bool {
		m, err := scrape(ctx, addr)
		last := written
		written = m["varve_mark_written_total"]
		return err == nil && written > 0 && written == last
	}
	if err := await(ctx, "the metadata of all channels is stored", 2*time.Minute, unchanged); err != nil {
		return f, err
	}
	before, err := scrape(ctx, addr)
	if err != nil {
		return f, err
	}
	begun := time.Now()
	select {
	case <-time.After(b.seconds):
	case <-ctx.Done():
		return f, ctx.Err()
	}
	after, err := scrape(ctx, addr)
	if err != nil {
		return f, err
	}
	seconds := time.Since(begun).Seconds()
	grown := func(name string) float64 { return after[name] - before[name] }
	samples := grown("varve_journal_samples_total")
	f = flow{
		stored: samples / seconds, cpu: grown("process_cpu_seconds_total") * 1e6 / samples,
		allocs: grown("go_memstats_mallocs_total") / samples, perSample: grown("varve_journal_bytes_total") / samples,
		cores: grown("process_cpu_seconds_total") / seconds,
	}
	if lost := after["varve_journal_dropped_samples_total"]; lost > 0 {
		return f, fmt.Errorf("%.0f samples were dropped: the store is slower than the load", lost)
	}
	return f, nil
}

// writeGroups writes manifests of ArchiveGroups to dir, with 1,000 PVs in each.
func writeGroups(dir string, pvs []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	i := 0
	for chunk := range slices.Chunk(pvs, 1000) {
		name := fmt.Sprintf("bench-%04d", i)
		var text strings.Builder
		fmt.Fprintf(&text, groupHead, name)
		for _, pv := range chunk {
			fmt.Fprintf(&text, "  - {name: %q}\n", pv)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text.String()), 0o644); err != nil {
			return err
		}
		i++
	}
	return nil
}

const groupHead = `apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: %s}
spec:
  archiverRef: {name: main}
  channels:
`
