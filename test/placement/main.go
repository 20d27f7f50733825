// Command placement compares Varve's placement of shards with other methods, on one trace of
// a large archive. It prints a table.
//
//	go run ./test/placement
//	go run ./test/placement -pvs 1000000 -engines 100 -shards 1024
//
// docs/design/placement.md explains the table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"varve.dev/varve/controllers/placement/simulate"
)

func main() {
	var cfg simulate.Config
	flag.IntVar(&cfg.PVs, "pvs", 10_000_000, "`number` of PVs")
	flag.IntVar(&cfg.Engines, "engines", 1000, "`number` of engines")
	flag.IntVar(&cfg.Shards, "shards", 4096, "`number` of shards")
	flag.IntVar(&cfg.Nodes, "nodes", 250, "`number` of Kubernetes nodes")
	flag.IntVar(&cfg.Zones, "zones", 3, "`number` of zones")
	flag.IntVar(&cfg.Events, "events", 400, "`number` of events")
	flag.Uint64Var(&cfg.Seed, "seed", 1, "`seed` of the trace")
	flag.Parse()
	if err := run(cfg); err != nil {
		fmt.Fprintln(os.Stderr, "placement:", err)
		os.Exit(1)
	}
}

func run(cfg simulate.Config) error {
	for _, n := range []int{cfg.PVs, cfg.Engines, cfg.Shards, cfg.Nodes, cfg.Zones, cfg.Events} {
		if n < 1 {
			return errors.New("every number must be 1 or more")
		}
	}
	began := time.Now()
	trace := simulate.New(cfg)
	fmt.Fprintf(os.Stdout, "%d PVs in %d shards on %d engines, %d events; trace made in %v\n\n",
		cfg.PVs, cfg.Shards, cfg.Engines, cfg.Events, time.Since(began).Round(time.Millisecond))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tmost loaded ÷ mean: start\tmean\tworst\tat best\tmoves per join\tleave\tcrash\tdrift\tnoise\tms per decision\tlongest\t")
	for _, p := range []struct {
		name   string
		placer simulate.Placer
	}{
		{"Varve", &simulate.Varve{Replicas: 1}},
		{"Varve, two engines each", &simulate.Varve{Replicas: 2}},
		{"rendezvous", simulate.Rendezvous()},
		{"bounded-load ring", simulate.Ring()},
		{"hash-mod", simulate.HashMod()},
	} {
		f := simulate.Run(trace, p.placer)
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t", p.name, f.Start, f.Mean, f.Worst, f.Bound)
		for k := range simulate.Kinds {
			fmt.Fprintf(w, "%.1f (%.1f)\t", f.PerEvent(k), f.Fair[k]/max(f.Events[k], 1))
		}
		fmt.Fprintf(w, "%.1f\t%.1f\t\n", f.Each.Seconds()*1000, f.Longest.Seconds()*1000)
	}
	return w.Flush()
}
