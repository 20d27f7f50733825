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

// report collects results.
type report struct{ results []result }

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
