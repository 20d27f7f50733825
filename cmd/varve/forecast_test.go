package main

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// captured are channels that a process captures.
type captured []capture.Status

func (c captured) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for _, s := range c {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (c captured) Status(_ context.Context, pv string) (capture.Status, bool, error) {
	for _, s := range c {
		if s.PV == pv {
			return s, true, nil
		}
	}
	return capture.Status{}, false, nil
}

// TestForecast checks what varve forecast prints for an archive of four hours and a PV without samples.
func TestForecast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	run := &sample.Run{Type: sample.Float64}
	for at := time.Now().Add(-4 * time.Hour).Truncate(time.Second); at.Before(time.Now()); at = at.Add(time.Second) {
		run.Append(&sample.Sample{Time: at.UnixNano(), Word: math.Float64bits(rng.NormFloat64())})
	}
	serveCaptured(t, map[string]*sample.Run{"A": run}, captured{
		{PV: "A", Group: "lab/x", State: capture.Connected, Rate: 1, Received: 10, Stored: 10},
		{PV: "B", Group: "lab/new", State: capture.Searching},
	})
	out, _, err := varve(t, "forecast", "--at", "2y")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`GROUP +PVS +SAMPLES/s +B/SAMPLE +PER DAY +NOW +IN 30d +IN 1y +IN 2y +IN 10y +MEASURED\n`,
		`lab/x +1 +1 +[6-9][.0-9]* +\d+ KiB +~[.\d]+ KiB +\d+(\.\d)? MiB +\d+ MiB +\d+ MiB +\d(\.\d)? GiB +1 PVs, 4 h\n`,
		`the archive +2 +1 +.* 2 PVs, 4 h\n`,
		`lab/new .* 1 PVs, no samples\n`,
		`\nThe archive (reaches|does not reach) the limit \(the free space of the disk: [\d.]+ [MGTP]iB\) (in \d+ days|within 10 years)\.\n`,
		`samples +forever +\d+ KiB `,
		`note: lab/new: no measured PV has samples of at least 10 minutes in blocks; blocks are written every 15 minutes\n`,
		`note: the archive: the growth of a group is missing: lab/new: `, `lab/new +1 .* - +- +- +- +1 PVs, no samples\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("the output does not match %s:\n%s", want, out)
		}
	}
	out, _, err = varve(t, "forecast", "-o", "json")
	var f apiForecast
	if err != nil || json.Unmarshal([]byte(out), &f) != nil || len(f.Groups) != 2 || len(f.Archive.Later) != 3 {
		t.Errorf("JSON: %v\n%s", err, out)
	}
	if _, _, err := varve(t, "forecast", "--at", "1h"); err == nil {
		t.Error("--at 1h is accepted")
	}
}
