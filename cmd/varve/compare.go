package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/moment"
	"varve.dev/varve/engine/upstream"
	"varve.dev/varve/engine/upstream/compare"
)

// compareOptions are the flags of `varve compare`.
type compareOptions struct {
	address
	with     string
	pvs      string // file of names
	from, to string
	near     time.Duration
	examples int
	format   string
}

func newCompare() *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare --with URL PV...",
		Short: "Compare the samples of two archives",
		Long: `Reads the samples of PVs from an archive of Varve ("here") and from another archive ("there"),
and counts where they differ. The other archive is an Archiver Appliance or another Varve. Give the
address of its retrieval, such as http://appliance:17668/retrieval.

  missing here, missing there   only one archive has the sample
  time stamp                    both have it, with times at most --near apart
  value, alarm, type            both have a sample with this time, but it differs

Values are compared bit for bit, as both archives send them to clients. --to is a minute ago by
default, because the newest samples may not have arrived in both archives yet.

Exit codes: 0 the archives are equal, 1 they differ, 2 a PV could not be compared.`,
		Example: `  varve compare --with http://appliance:17668/retrieval SR01-VA:PRES-01 --from -1d
  varve compare --with appliance:17668 --pvs names.txt --from 2026-03-01 --to 2026-03-02 --format json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args, time.Now()) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	o.address.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.with, "with", "", "address of the other archive (required)")
	f.StringVar(&o.pvs, "pvs", "", "compare the PVs in this file, too: a name in each line")
	f.StringVar(&o.from, "from", "-1d", "start of the time range")
	f.StringVar(&o.to, "to", "-1m", "end of the time range")
	addDuration(f, &o.near, "near", 100*time.Millisecond, "largest difference of the time stamps of two samples with equal values that counts as a changed time stamp of one sample")
	f.IntVar(&o.examples, "examples", 3, "number of examples of each kind that are printed per PV")
	f.StringVarP(&o.format, "format", "o", "table", "output format: table, or json (a line for each PV)")
	completeFlag(cmd, "format", []string{"table", "json"})
	return cmd
}

func (o *compareOptions) run(cmd *cobra.Command, args []string, now time.Time) error {
	differing, failed, err := o.compare(cmd, args, now)
	switch {
	case err != nil:
		return exitError{err, exitFailed}
	case failed > 0:
		return exitError{fmt.Errorf("%d PVs could not be compared; the output above gives the reasons", failed), exitFailed}
	case differing > 0:
		return exitError{fmt.Errorf("the archives differ in %d PVs", differing), exitProblems}
	}
	return nil
}

// Bounds of --near and --examples.
const (
	maxNear     = time.Hour
	maxExamples = 1000
)

func (o *compareOptions) check() error {
	switch {
	case o.with == "":
		return errors.New("--with is required: the address of the other archive")
	case o.near < 0 || o.near > maxNear:
		return fmt.Errorf("--near: %v is not between 0 and %v", o.near, maxNear)
	case o.examples < 0 || o.examples > maxExamples:
		return fmt.Errorf("--examples: %d is not between 0 and %d", o.examples, maxExamples)
	case o.format != "table" && o.format != "json":
		return fmt.Errorf("--format: %q is not table or json", o.format)
	}
	return nil
}

// names returns the PVs to compare, each once.
func (o *compareOptions) names(args []string) ([]string, error) {
	names := slices.Clone(args)
	if o.pvs != "" {
		listed, err := readNames(o.pvs)
		if err != nil {
			return nil, fmt.Errorf("--pvs: %w", err)
		}
		names = append(names, listed...)
	}
	if len(names) == 0 {
		return nil, errors.New("name at least one PV, or a file of names with --pvs")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// span returns the first and the last time, in ns since 1970.
func (o *compareOptions) span(now time.Time) (from, to int64, err error) {
	p := moment.Parser{Now: now, Zone: time.Local}
	first, err := p.Parse(o.from)
	if err != nil {
		return 0, 0, fmt.Errorf("--from: %w", err)
	}
	last, err := p.Parse(o.to)
	if err != nil {
		return 0, 0, fmt.Errorf("--to: %w", err)
	}
	if first.Year() < 1970 || last.Year() > 2199 {
		return 0, 0, errors.New("--from, --to: the years must be between 1970 and 2199")
	}
	if last.Before(first) {
		return 0, 0, fmt.Errorf("--to: %s is before --from", o.to)
	}
	return first.UnixNano(), last.UnixNano(), nil
}

// archives connects to both archives, and checks that they answer.
func (o *compareOptions) archives(cmd *cobra.Command) (here, there *upstream.Appliance, err error) {
	base, err := o.base(cmd)
	if err != nil {
		return nil, nil, err
	}
	with, err := baseURL(o.with)
	if err != nil {
		return nil, nil, fmt.Errorf("--with: %q %w; write it like http://appliance:17668/retrieval", o.with, err)
	}
	here, there = &upstream.Appliance{Server: upstream.Server{Authorize: o.authorize}}, &upstream.Appliance{}
	for _, a := range []struct {
		archive    *upstream.Appliance
		base, flag string
	}{{here, base, "--url"}, {there, with, "--with"}} {
		if a.archive.Base, err = url.Parse(a.base + "/retrieval"); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.flag, err)
		}
		if err := a.archive.Check(cmd.Context()); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.flag, err)
		}
	}
	return here, there, nil
}

// compare compares all PVs and prints the results. It returns how many PVs differ, and how many could not
// be compared.
func (o *compareOptions) compare(cmd *cobra.Command, args []string, now time.Time) (differing, failed int, err error) {
	if err := o.check(); err != nil {
		return 0, 0, err
	}
	names, err := o.names(args)
	if err != nil {
		return 0, 0, err
	}
	opts := compare.Options{Near: o.near, Examples: o.examples}
	if opts.From, opts.To, err = o.span(now); err != nil {
		return 0, 0, err
	}
	here, there, err := o.archives(cmd)
	if err != nil {
		return 0, 0, err
	}
	opts.Here, opts.There = here.Samples, there.Samples
	out := newComparePrinter(cmd.OutOrStdout(), o.format)
	for _, pv := range names { // one by one, to limit the load on archives that have other clients
		r, err := compare.PV(cmd.Context(), pv, opts) // r has the error
		if err != nil && cmd.Context().Err() != nil {
			return differing, failed, fmt.Errorf("interrupted while comparing %s: %w", pv, err)
		}
		switch {
		case err != nil:
			failed++
		case r.Differs():
			differing++
		}
		if err := out.print(r); err != nil {
			return differing, failed, err
		}
	}
	return differing, failed, out.close()
}
