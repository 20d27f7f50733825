package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// result is one measurement. Names stay the same from version to version.
type result struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Anchor is the value to compare with, from another archiver or from the row-per-sample
	// writer in the same run. It is 0 if there is none.
	Anchor float64 `json:"anchor"`
	// Ratio is the number of times by which the value is better than the anchor.
	Ratio float64 `json:"ratio"`

	of string // describes the anchor
}

// goal is a measurement whose value a requirement gives.
type goal struct {
	name, unit      string
	reached, wanted float64
	met             bool
}

// report collects results.
type report struct {
	results []result
	goals   []goal
}

// slack is the part of a goal by which a result may be worse: the pace of the load is not more precise.
const slack = 0.001

// atMost adds a result for which lower is better, with its goal.
func (r *report) atMost(name, unit string, value, wanted float64) {
	r.cost(name, unit, value, wanted, "wanted")
	r.goals = append(r.goals, goal{name, unit, value, wanted, value <= wanted*(1+slack)})
}

// atLeast adds a result in samples/s for which higher is better, with its goal.
func (r *report) atLeast(name string, value, wanted float64) {
	r.rate(name, value, wanted, "wanted")
	r.goals = append(r.goals, goal{name, "samples/s", value, wanted, value >= wanted*(1-slack)})
}

// rate adds a result in samples/s, with its anchor.
func (r *report) rate(name string, value, anchor float64, of string) {
	r.speed(name, "samples/s", value, anchor, of)
}

// speed adds a result for which higher is better, with its anchor.
func (r *report) speed(name, unit string, value, anchor float64, of string) {
	res := result{Name: name, Value: value, Unit: unit, Anchor: anchor, of: of}
	if anchor > 0 {
		res.Ratio = value / anchor
	}
	r.results = append(r.results, res)
}

// cost adds a result for which lower is better, with its anchor.
func (r *report) cost(name, unit string, value, anchor float64, of string) {
	res := result{Name: name, Value: value, Unit: unit, Anchor: anchor, of: of}
	if anchor > 0 && value > 0 {
		res.Ratio = anchor / value
	}
	r.results = append(r.results, res)
}

// table writes the results as a table.
func (r *report) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tVALUE\tUNIT\tTIMES BETTER\tANCHOR")
	for _, res := range r.results {
		ratio, anchor := "-", "-"
		if res.Anchor > 0 {
			ratio, anchor = fmt.Sprintf("%.1f", res.Ratio), fmt.Sprintf("%s %s", number(res.Anchor), res.of)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", res.Name, number(res.Value), res.Unit, ratio, anchor)
	}
	if err := t.Flush(); err != nil || len(r.goals) == 0 {
		return err
	}
	return r.goalTable(w)
}

// goalTable writes each goal beside what was reached.
func (r *report) goalTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "\nGOAL\tREACHED\tWANTED\tUNIT\tMET")
	for _, g := range r.goals {
		met := "no"
		if g.met {
			met = "yes"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", g.name, number(g.reached), number(g.wanted), g.unit, met)
	}
	return t.Flush()
}

func number(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// save writes the results as JSON lines.
func (r *report) save(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	for _, res := range r.results {
		if err := enc.Encode(res); err != nil {
			return err
		}
	}
	return f.Close()
}
