package main

import (
	"encoding/json"
	"fmt"
	"io"

	"varve.dev/varve/engine/upstream/compare"
)

// comparePrinter prints the results of comparisons, one after the other.
type comparePrinter struct {
	out  io.Writer
	json bool
	pvs  int
	sum  compare.Result
}

func newComparePrinter(out io.Writer, format string) *comparePrinter {
	return &comparePrinter{out: out, json: format == "json", sum: compare.Result{Counts: map[compare.Kind]uint64{}}}
}

// print prints the result of a PV.
func (p *comparePrinter) print(r *compare.Result) error {
	if p.json {
		return json.NewEncoder(p.out).Encode(r)
	}
	p.pvs++
	p.sum.Here, p.sum.There, p.sum.Equal = p.sum.Here+r.Here, p.sum.There+r.There, p.sum.Equal+r.Equal
	for k, n := range r.Counts {
		p.sum.Counts[k] += n
	}
	return p.pv(r)
}

// pv prints a PV unless both archives have the same samples of it.
func (p *comparePrinter) pv(r *compare.Result) error {
	if r.Error == "" && !r.Differs() {
		return nil
	}
	text := fmt.Sprintf("%s: %d samples here, %d there, %d equal\n", printable(r.PV), r.Here, r.There, r.Equal)
	switch {
	case r.UnknownHere:
		text += "  this archive (--url) does not know the PV\n"
	case r.UnknownThere:
		text += "  the other archive (--with) does not know the PV\n"
	}
	for _, k := range compare.Kinds {
		if n := r.Counts[k]; n > 0 {
			text += fmt.Sprintf("  %-14s %d\n", k, n)
		}
		for _, d := range r.Examples {
			if d.Kind == k {
				text += fmt.Sprintf("    %s  %s\n", d.At.Format("2006-01-02T15:04:05.000000000Z"), sides(&d))
			}
		}
	}
	if r.Error != "" {
		text += "  the comparison ended early: " + printable(r.Error) + "\n"
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// sides says what each archive has.
func sides(d *compare.Difference) string {
	switch d.Kind {
	case compare.MissingHere:
		return "there " + printable(d.There)
	case compare.MissingThere:
		return "here " + printable(d.Here)
	}
	return fmt.Sprintf("here %s, there %s", printable(d.Here), printable(d.There))
}

// close prints the sums.
func (p *comparePrinter) close() error {
	if p.json {
		return nil
	}
	text := fmt.Sprintf("%d PVs, %d samples here, %d there, %d equal, %d differences\n", p.pvs, p.sum.Here, p.sum.There, p.sum.Equal, p.sum.Differences())
	for _, k := range compare.Kinds {
		text += fmt.Sprintf("  %-14s %d\n", k, p.sum.Counts[k])
	}
	_, err := io.WriteString(p.out, text)
	return err
}
