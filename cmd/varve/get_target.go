package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/postprocess"
)

// target is a PV to read, with or without a post-processor.
type target struct {
	text string // the PV, or the post-processor with the PV
	pv   string
	op   *postprocess.Func // nil for stored samples
}

// targets returns the PVs that the arguments stand for. single reports whether the arguments are
// one PV and not a list or a pattern.
func (o *getOptions) targets(cmd *cobra.Command, args []string) (all []target, single bool, err error) {
	single = len(args) == 1
	for _, arg := range args {
		t, err := o.target(cmd, arg)
		if err != nil {
			return nil, false, err
		}
		if t.op != nil && (o.last > 0 || cmd.Flags().Changed("at")) {
			return nil, false, fmt.Errorf("%s: --last and --at read stored samples; give --from and --to for a post-processor", printable(arg))
		}
		if t.op != nil && (o.align != "" || o.where != "") {
			return nil, false, fmt.Errorf("%s: --align and --where read stored samples; a post-processor cannot be combined with them", printable(arg))
		}
		if !isGlob(t.pv) {
			all = append(all, t)
			continue
		}
		single = false
		names, err := o.expand(cmd, t.pv)
		if err != nil {
			return nil, false, err
		}
		for _, pv := range names {
			all = append(all, target{text: t.of(pv), pv: pv, op: t.op})
		}
	}
	return all, single, nil
}

// of returns the text of the target for another PV.
func (t *target) of(pv string) string {
	if t.op == nil {
		return pv
	}
	return fmt.Sprintf("%s(%s)", t.op, pv)
}

// target parses an argument. If it is no post-processor of a PV, it may be the name of a PV that
// has parentheses.
func (o *getOptions) target(cmd *cobra.Command, arg string) (target, error) {
	plain := target{text: arg, pv: arg}
	if arg == "" {
		return plain, errors.New("the name of a PV is empty")
	}
	if !postprocess.IsCall(arg) {
		return plain, nil
	}
	op, pv, err := postprocess.ParseCall(arg)
	if err == nil {
		t := target{pv: pv, op: op}
		t.text = t.of(pv)
		return t, nil
	}
	if !isGlob(arg) {
		if names, _ := o.expand(cmd, arg); len(names) > 0 {
			return plain, nil
		}
	}
	return plain, err
}

// maxLast bounds --last.
const maxLast = 1_000_000

// firstWidth is the length of the range in which the last samples are looked for first.
const firstWidth = 10 * time.Second

// earliest is the start of the longest range.
var earliest = time.Date(1902, 1, 1, 0, 0, 0, 0, time.UTC)

// spanOfLast returns the times of the first and the last of the last samples. It reads ranges that become
// longer, until one has enough samples, or the archive has no earlier ones. Samples may arrive until
// they are read again, so the span ends with the last one that it found.
func (o *getOptions) spanOfLast(cmd *cobra.Command, pv string, to time.Time) (timeSpan, error) {
	for width := firstWidth; ; {
		from := to.Add(-width)
		if from.Before(earliest) {
			from = earliest
		}
		times, err := o.lastTimes(cmd, pv, timeSpan{from, to})
		switch {
		case err != nil:
			return timeSpan{}, err
		case len(times) == 0:
			return timeSpan{to, to}, nil
		case len(times) == o.last || times[0].After(from) || from.Equal(earliest):
			end := times[len(times)-1].Add(time.Nanosecond) // a span of one time would be that of --at
			if end.After(to) {
				end = to
			}
			return timeSpan{times[0], end}, nil
		}
		width = 2 * max(width, to.Sub(times[0]))
	}
}

// lastTimes returns the times of the last samples in a range, of --last of them at most. The
// sample before the range belongs to them.
func (o *getOptions) lastTimes(cmd *cobra.Command, pv string, span timeSpan) ([]time.Time, error) {
	resp, err := o.open(cmd, "/api/v1/samples?"+span.query(pv))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var ring []time.Time
	n := 0
	_, err = readSamples(resp.Body, func(*seriesHead) error { return nil }, func(s *apiSample) error {
		if len(ring) < o.last {
			ring = append(ring, s.Time)
		} else {
			ring[n%o.last] = s.Time
		}
		n++
		return nil
	})
	if err != nil || n <= o.last {
		return ring, err
	}
	oldest := n % o.last
	return append(ring[oldest:], ring[:oldest]...), nil
}
