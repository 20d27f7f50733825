package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// printer prints the PVs of `varve get`.
type printer interface {
	// series prints the answer for a PV.
	series(t *target, marks []apiMark, answer io.Reader) error
	close() error
}

// printer returns the printer for --format. single means that there is one PV and never more. The
// caller flushes out.
func (o *getOptions) printer(cmd *cobra.Command, out *bufio.Writer, single bool) printer {
	switch {
	case o.format.format == jsonFormat:
		return &jsonPrinter{out: out, single: single, before: "[\n"}
	case o.format.format == csvFormat:
		return newCSVPrinter(out, cmd.ErrOrStderr())
	case o.at != "":
		return &momentPrinter{table: table(out, "PV", "TIME", "VALUE", "UNITS", "SEVERITY", "STATUS")}
	}
	return &tablePrinter{out: out}
}

// readAny reads the samples of a target.
func readAny(t *target, r io.Reader, begin func(*seriesHead) error, f func(*apiSample) error) (*apiNoData, error) {
	if t.op != nil {
		return nil, readProcessed(r, func(h *seriesHead) error {
			if !t.keepsUnits() {
				h.metadata = nil
			}
			return begin(h)
		}, f)
	}
	return readSamples(r, begin, f)
}

// unitless are post-processors whose results have other units than the PV.
var unitless = []string{"count", "ncount", "variance", "popvariance", "jitter", "skewness", "kurtosis", "stats", "optim"}

// keepsUnits reports whether the results have the units of the PV.
func (t *target) keepsUnits() bool {
	for _, name := range unitless {
		if strings.HasPrefix(t.op.String(), name) {
			return false
		}
	}
	return true
}

// tablePrinter prints a block for each PV: samples, and the marks between them.
type tablePrinter struct {
	out  io.Writer
	some bool // a PV was printed
}

func (p *tablePrinter) series(t *target, marks []apiMark, answer io.Reader) error {
	if p.some {
		fmt.Fprintln(p.out)
	}
	p.some = true
	n := 0
	var head *seriesHead
	absent, err := readAny(t, answer, func(h *seriesHead) error {
		head = h
		return p.title(t, h)
	}, func(s *apiSample) error {
		for len(marks) > 0 && !marks[0].Time.After(s.Time) {
			p.mark(&marks[0])
			marks = marks[1:]
		}
		n++
		_, err := fmt.Fprintf(p.out, "%-35s  %-20s  %-8s  %s\n", s.Time.Local().Format(clockLayout), brief(head.metadata.describe(s.typ, s.Value)), s.Severity, s.Status)
		return err
	})
	if err != nil {
		return err
	}
	for i := range marks {
		p.mark(&marks[i])
	}
	fmt.Fprintf(p.out, "%d samples\n", n)
	if absent != nil {
		fmt.Fprintln(p.out, printable(absent.String()))
	}
	return nil
}

// title prints the name and the units of a PV.
func (p *tablePrinter) title(t *target, h *seriesHead) error {
	units := ""
	if h.metadata != nil && h.metadata.Units != "" {
		units = " in " + h.metadata.Units
	}
	_, err := fmt.Fprintln(p.out, printable(t.text+units))
	return err
}

func (p *tablePrinter) mark(m *apiMark) {
	fmt.Fprintf(p.out, "%-35s  -- %s\n", m.Time.Local().Format(clockLayout), printable(m.String()))
}

func (p *tablePrinter) close() error { return nil }

// maxBrief is the number of characters of an array or a structure in a table.
const maxBrief = 60

// brief returns a value for a table, in one line. It shortens arrays and structures, but no
// strings.
func brief(value string) string {
	value = printable(value)
	if len(value) <= maxBrief || value[0] != '[' && value[0] != '{' {
		return value
	}
	var elements []json.RawMessage
	if json.Unmarshal([]byte(value), &elements) != nil {
		return shorten(value, maxBrief)
	}
	begin := value[:maxBrief/2]
	return fmt.Sprintf("%s, …] (%d elements)", begin[:max(strings.LastIndexByte(begin, ','), 1)], len(elements))
}

// momentPrinter prints a line for each PV, with its value at a time.
type momentPrinter struct {
	table interface {
		io.Writer
		Flush() error
	}
}

func (p *momentPrinter) series(t *target, _ []apiMark, answer io.Reader) error {
	var head *seriesHead
	var last *apiSample
	absent, err := readAny(t, answer, func(h *seriesHead) error {
		head = h
		return nil
	}, func(s *apiSample) error {
		last = s
		return nil
	})
	if err != nil {
		return err
	}
	if last == nil {
		reason := "no value until then"
		if absent != nil {
			reason = absent.String()
		}
		_, err = fmt.Fprintf(p.table, "%s\t-\t-\t\t-\t%s\n", printable(t.pv), printable(reason))
		return err
	}
	units := ""
	if head != nil && head.metadata != nil {
		units = head.metadata.Units
	}
	_, err = fmt.Fprintf(p.table, "%s\t%s\t%s\t%s\t%s\t%s\n", printable(t.pv), last.Time.Local().Format(clockLayout),
		brief(head.metadata.describe(last.typ, last.Value)), printable(units), last.Severity, last.Status)
	return err
}

func (p *momentPrinter) close() error { return p.table.Flush() }

// csvPrinter prints one table of all PVs.
type csvPrinter struct {
	w        *csvWriter
	problems io.Writer
}

func newCSVPrinter(out, problems io.Writer) *csvPrinter {
	p := &csvPrinter{newCSV(out), problems}
	_ = p.w.row("pv", "time", "value", "label", "units", "severity", "status") // close returns the error
	return p
}

// series prints the samples of a PV. If there are none, it prints the cause as a problem, because
// programs read the output.
func (p *csvPrinter) series(t *target, _ []apiMark, answer io.Reader) error {
	n := 0
	var meta *apiMetadata
	units := ""
	absent, err := readAny(t, answer, func(h *seriesHead) error {
		if meta = h.metadata; meta != nil {
			units = safeCell(meta.Units)
		}
		return nil
	}, func(s *apiSample) error {
		n++
		return p.w.row(safeCell(t.text), utc(s.Time), safeCell(text(s.Value)), safeCell(meta.label(s.typ, s.Value)), units, s.Severity, s.Status)
	})
	if n == 0 && absent != nil {
		fmt.Fprintf(p.problems, "%s: %s\n", printable(t.text), printable(absent.String()))
	}
	return err
}

func (p *csvPrinter) close() error { return p.w.flush() }

// jsonPrinter prints the answers of /api/v1/samples: the answer itself for a single PV, a list of
// answers for several.
type jsonPrinter struct {
	out    io.Writer
	single bool
	before string
}

func (p *jsonPrinter) series(t *target, _ []apiMark, answer io.Reader) error {
	if !p.single {
		fmt.Fprint(p.out, p.before)
		p.before = ",\n"
	}
	if t.op == nil {
		_, err := io.Copy(p.out, answer)
		return err
	}
	return p.processed(t, answer)
}

// processed prints the result of a post-processor in the form of /api/v1/samples.
func (p *jsonPrinter) processed(t *target, answer io.Reader) error {
	before := ""
	_, err := readAny(t, answer, func(h *seriesHead) error {
		head := map[string]any{"pv": t.text}
		if h.metadata != nil && h.metadata.Units != "" {
			head["metadata"] = map[string]string{"units": h.metadata.Units}
		}
		text, err := json.Marshal(head)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, `%s,"runs":[{"samples":[`, text[:len(text)-1])
		return err
	}, func(s *apiSample) error {
		_, err := fmt.Fprintf(p.out, "%s\n{\"time\":\"%s\",\"value\":%s,\"severity\":\"%s\",\"status\":\"%s\"}", before, utc(s.Time), s.Value, s.Severity, s.Status)
		before = ","
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.out, "]}]}")
	return err
}

func (p *jsonPrinter) close() error {
	switch {
	case p.single:
		return nil
	case p.before == "[\n":
		fmt.Fprint(p.out, "[")
	}
	_, err := fmt.Fprintln(p.out, "]")
	return err
}
