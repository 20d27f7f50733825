package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/moment"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/stream"
)

// getOptions are the flags of `varve get`.
type getOptions struct {
	client
	analysis
	from, to, at string
	last         int
	format       getFormat
	file         string
}

func newGet() *cobra.Command {
	o := getOptions{format: getFormat{tableFormat}}
	cmd := &cobra.Command{
		Use:   "get PV...",
		Short: "Read the samples of PVs",
		Long: `Prints the samples of PVs in a time range. It starts with the last sample before the range,
and shows the marks that explain gaps. A PV may be a pattern with * and ?, and may have a
post-processor: mean_60(PV).

A time is relative to now (-10m, -2h, -7d, -1mo), a date or a time of day (yesterday, 14:00,
2026-03-01, 2026-03-01T08:00), or seconds since 1970. A time without a zone is in local time; it
may end in Z, +01:00 or a name such as Europe/Paris. Tables are in local time, CSV and JSON in
UTC.`,
		Example: `  varve get SR01-VA:PRES-01 --from -1h
  varve get SR01-VA:PRES-01 SR01-VA:PRES-02 'SR02-VA:*' --at yesterday
  varve get SR01-VA:PRES-01 --last 10
  varve get SR:I SR:LIFETIME --align 1s --fill mean --format csv
  varve get SR01-VA:PRES-01 --from -1d --where 'SR:I > 0.5'
  varve get 'mean_60(SR01-VA:PRES-01)' --from 08:00 --to 09:00 --format csv
  varve get SR01-VA:PRES-01 --from -7d --format json --url archiver:17665
  varve get 'SR01-VA:*' --from -7d --file pressures.parquet`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("the name of a PV is required: varve get PV")
			}
			return nil
		},
		ValidArgsFunction: o.completePVs,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args, time.Now()) },
	}
	o.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "-1h", "start of the time range")
	f.StringVar(&o.to, "to", "now", "end of the time range")
	f.StringVar(&o.at, "at", "", "print the value at this time instead of a time range")
	f.IntVar(&o.last, "last", 0, "print the last samples up to --to, this number of them")
	o.addFlags(cmd)
	f.VarP(&o.format, "format", "o", "output format: "+strings.Join(getFormats, ", "))
	completeFlag(cmd, "format", getFormats)
	f.StringVarP(&o.file, "file", "f", "", "write to this file; its extension is the default of --format")
	return cmd
}

// run parses the arguments, and then reads and prints all PVs.
func (o *getOptions) run(cmd *cobra.Command, args []string, now time.Time) error {
	if err := o.chooseFormat(cmd.Flags().Changed); err != nil {
		return err
	}
	span, err := o.span(cmd, moment.Parser{Now: now, Zone: time.Local})
	if err != nil {
		return err
	}
	targets, single, err := o.targets(cmd, args)
	if err != nil {
		return err
	}
	return o.write(cmd, func(out io.Writer) error { return o.print(cmd, targets, single, span, out) })
}

// print reads and prints all PVs.
func (o *getOptions) print(cmd *cobra.Command, targets []target, single bool, span timeSpan, to io.Writer) (err error) {
	if o.format.isBinary() {
		return o.copyBinary(cmd, targets, span, to)
	}
	out := bufio.NewWriter(to)
	if o.align != "" {
		return cmp.Or(o.printAligned(cmd, targets, span, out), out.Flush())
	}
	p := o.printer(cmd, out, single)
	for i := range targets {
		if err = o.read(cmd, &targets[i], span, p); err != nil {
			break
		}
	}
	if err == nil {
		err = p.close()
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	return err
}

// timeSpan is a time range. At the command line, one time stands for a range of no length.
type timeSpan struct{ from, to time.Time }

func (s timeSpan) query(pv string) string {
	return url.Values{"pv": {pv}, "from": {utc(s.from)}, "to": {utc(s.to)}}.Encode()
}

// span returns the time range that the flags describe. With --last its start is not known yet.
func (o *getOptions) span(cmd *cobra.Command, p moment.Parser) (span timeSpan, err error) {
	if err := cmp.Or(o.checkTimes(cmd.Flags().Changed), o.check(cmd.Flags().Changed)); err != nil {
		return span, err
	}
	if cmd.Flags().Changed("at") {
		if span.to, err = p.Parse(o.at); err != nil {
			return span, fmt.Errorf("--at: %w", err)
		}
		return timeSpan{span.to, span.to}, nil
	}
	if span.from, err = p.Parse(o.from); err != nil {
		return span, fmt.Errorf("--from: %w", err)
	}
	if span.to, err = p.Parse(o.to); err != nil {
		return span, fmt.Errorf("--to: %w", err)
	}
	if span.from.After(span.to) && o.last == 0 {
		return span, fmt.Errorf("--from: %s is %s, which is after --to, %s; %s",
			o.from, span.from.Format(clockLayout), span.to.Format(clockLayout), adviseStart(o.from))
	}
	return span, nil
}

// timeOfDay is the form of a time that is taken to be today.
var timeOfDay = regexp.MustCompile(`^\d{1,2}:\d{2}`)

// adviseStart says how to write a start that is after the end.
func adviseStart(from string) string {
	if from = strings.TrimSpace(from); timeOfDay.MatchString(from) {
		hour, rest, _ := strings.Cut(from, ":")
		return fmt.Sprintf("did you mean \"yesterday %02s:%s\"?", hour, rest)
	}
	return "write the earlier time in --from"
}

// checkTimes returns an error if the flags with times exclude each other.
func (o *getOptions) checkTimes(given func(flag string) bool) error {
	switch {
	case given("at") && (given("from") || given("to") || given("last")):
		return errors.New("--at is one time; it cannot be combined with --from, --to or --last")
	case given("last") && given("from"):
		return errors.New("--last counts back from --to; it cannot be combined with --from")
	case given("last") && (o.last < 1 || o.last > maxLast):
		return fmt.Errorf("--last: %d is not between 1 and %d", o.last, maxLast)
	}
	return nil
}

// read reads and prints one PV.
func (o *getOptions) read(cmd *cobra.Command, t *target, span timeSpan, p printer) (err error) {
	ofSamples := span
	if o.last > 0 {
		if ofSamples, err = o.spanOfLast(cmd, t.pv, span.to); err != nil {
			return o.explain(cmd, t.pv, err)
		}
		span.from = ofSamples.from // marks after the last sample say why there is none
	}
	marks := struct{ Marks []apiMark }{}
	if o.format.format == tableFormat && !span.isMoment() && t.op == nil && o.where == "" {
		if err := o.decode(cmd, "/api/v1/marks?"+span.query(t.pv), &marks); err != nil {
			return o.explain(cmd, t.pv, err)
		}
	}
	path := o.samplesPath(t.pv, ofSamples)
	if t.op != nil {
		path = "/retrieval/data/getData.json?" + span.query(t.text)
	}
	resp, err := o.open(cmd, path)
	if err != nil {
		return o.explain(cmd, t.pv, err)
	}
	defer resp.Body.Close()
	if err := p.series(t, marks.Marks, resp.Body); err != nil {
		return err
	}
	warnIfIncomplete(cmd.ErrOrStderr(), resp.Header.Get(stream.CompleteUntil))
	warnIfLost(cmd.ErrOrStderr(), cmp.Or(resp.Header.Get(stream.LostSamples), resp.Trailer.Get(stream.LostSamples)))
	return nil
}

func (s timeSpan) isMoment() bool { return s.from.Equal(s.to) }

// explain replaces the error about a PV that the archive does not know by one with similar names.
func (o *getOptions) explain(cmd *cobra.Command, pv string, err error) error {
	var status statusError
	if !errors.As(err, &status) || status.code != http.StatusNotFound || !strings.Contains(status.text, "unknown PV") {
		return err
	}
	return fmt.Errorf("unknown PV %s; %s", printable(pv), suggest(pv, o.nearest(cmd, pv)))
}

// warnIfIncomplete prints up to which time an answer is complete. until is the time in the header of
// the answer, which is empty if no sample is missing.
func warnIfIncomplete(w io.Writer, until string) {
	if until == "" {
		return
	}
	known := "It is not known until when the samples are complete"
	if t, err := time.Parse(time.RFC3339Nano, until); err == nil && t.After(time.Unix(0, query.Earliest)) { // older servers send the year 1900
		known = "The samples are complete until " + t.Local().Format(clockLayout)
	}
	fmt.Fprintf(w, "The newest samples are missing: an engine does not answer, or is behind. %s. Try again later.\n", known)
}

// warnIfLost prints how many samples an answer leaves out, unless n is empty.
func warnIfLost(w io.Writer, n string) {
	if n != "" {
		fmt.Fprintf(w, "%s samples are lost, because stored blocks are damaged. Run `varve store check` on the archive.\n", n)
	}
}
