// Command explore runs simulated schedules of the hand-over protocol, and prints how often
// each event happened in them.
//
//	go run ./test/handover/explore
//	go run ./test/handover/explore -seeds 100000
//	go run ./test/handover/explore -profile planned -first 14 -seeds 1 -v
//
// With -v it prints the trace of each seed. It stops with an error at the first seed that
// violates a rule, for example because a sample is lost or read twice.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"varve.dev/varve/test/handover"
)

var profiles = []struct {
	name string
	is   handover.Profile
}{
	{"anything", handover.Anything}, {"planned", handover.Planned}, {"redundant", handover.Redundant},
}

func main() {
	first := flag.Uint64("first", 0, "the first `seed`")
	seeds := flag.Uint64("seeds", 1000, "`number` of seeds of each profile")
	profile := flag.String("profile", "", "anything, planned or redundant; all by default")
	verbose := flag.Bool("v", false, "print a trace of each seed")
	flag.Parse()
	if err := run(os.Stdout, *first, *seeds, *profile, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "handover:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, first, seeds uint64, profile string, verbose bool) error {
	known := false
	for _, p := range profiles {
		if profile != "" && profile != p.name {
			continue
		}
		known = true
		if err := explore(out, handover.Config{Profile: p.is, Trace: verbose}, first, seeds); err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("-profile is %q, and not anything, planned or redundant", profile)
	}
	return nil
}

// explore runs a range of seeds of a profile.
func explore(out io.Writer, cfg handover.Config, first, seeds uint64) error {
	var total handover.Counts
	steps, began := 0, time.Now()
	for seed := first; seed < first+seeds; seed++ {
		r := handover.Run(cfg, seed)
		if cfg.Trace {
			fmt.Fprintln(out, strings.Join(r.Trace, "\n"))
		}
		if r.Violation != "" {
			again := cfg
			again.Trace = true
			if !cfg.Trace {
				fmt.Fprintln(out, strings.Join(handover.Run(again, seed).Trace, "\n"))
			}
			return fmt.Errorf("%v: seed %d: %s", cfg.Profile, seed, r.Violation)
		}
		steps += r.Steps
		total.Add(&r.Counts)
	}
	_, err := fmt.Fprintf(out, "%v: %d schedules explored, seeds %d to %d, %d steps, in %v\n",
		cfg.Profile, seeds, first, first+seeds-1, steps, time.Since(began).Round(100*time.Millisecond))
	return errors.Join(err, total.Print(out))
}
