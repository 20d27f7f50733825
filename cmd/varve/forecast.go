package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// forecastOptions are the flags of `varve forecast`.
type forecastOptions struct {
	client
	at     duration
	format string
}

func newForecast() *cobra.Command {
	var o forecastOptions
	cmd := &cobra.Command{
		Use:   "forecast",
		Short: "Predict how large the archive and its groups become",
		Long: `Predicts how much an archive keeps in 30 days, 1 year and 10 years, by group and by
retention tier, if all PVs continue as they do now.

The archive reads the latest blocks and rollups of some PVs of each group, so sizes are those
after compression, in all replicas. MEASURED says how many PVs were read, and from which time
the rates are: 30 days, less if the PVs are new, or a day if they are fast. Retention deletes
old samples and rollups, also those that are stored now.

NOW is computed from the rates for groups, and is the size on disk for the archive and its
tiers. It is marked with ~ if it is computed.

To see what a new retention does to stored data, use varve retention plan.`,
		Example: `  varve forecast
  varve forecast --at 2y
  varve forecast -o json | jq '.archive.later'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.add(cmd)
	f := cmd.Flags()
	f.Var(&o.at, "at", "also predict the size after this time, such as 90d or 2y; 1d to 100y")
	f.Lookup("at").DefValue = "" // not 0s
	f.StringVarP(&o.format, "format", "o", "text", "output format: text or json")
	completeFlag(cmd, "format", []string{"text", "json"})
	return cmd
}

// Bounds of --at, in days.
const maxForecastDays = 36500

// apiOutlook is a JSON type of /api/v1/forecast.
type apiOutlook struct {
	Group            string
	PVs, MeasuredPVs int
	MeasuredSeconds  float64
	SamplesPerSecond float64
	BytesPerSample   float64
	BytesPerDay      float64
	Bytes            int64
	Later            []int64
	Estimated        bool
	Tiers            []struct {
		Contents, Tier string
		BytesPerDay    float64
		Bytes          int64
		Later          []int64
	}
	Unknown string
}

// apiForecast is the answer of /api/v1/forecast.
type apiForecast struct {
	At      string
	Days    []int
	Archive apiOutlook
	Groups  []apiOutlook
	Unknown map[string]string

	Limit         string
	LimitBytes    int64
	ReachedInDays *int
}

func (o *forecastOptions) run(cmd *cobra.Command) error {
	path := "/api/v1/forecast"
	if cmd.Flags().Changed("at") {
		days := time.Duration(o.at) / (24 * time.Hour)
		if days < 1 || days > maxForecastDays {
			return fmt.Errorf("--at: %v is not between 1d and 100y", time.Duration(o.at))
		}
		path += "?days=" + strconv.Itoa(int(days))
	}
	if o.format != "text" && o.format != "json" {
		return fmt.Errorf("--format: %q is not text or json", o.format)
	}
	var raw json.RawMessage
	if err := o.decode(cmd, path, &raw); err != nil {
		return err
	}
	if o.format == "json" {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", raw)
		return err
	}
	var f apiForecast
	if err := json.Unmarshal(raw, &f); err != nil {
		return fmt.Errorf("decoding the answer of the archive: %w", err)
	}
	return f.print(cmd.OutOrStdout())
}

// print prints the sizes of groups, and those of the archive by tier.
func (f *apiForecast) print(out io.Writer) error {
	head := []string{"GROUP", "PVS", "SAMPLES/s", "B/SAMPLE", "PER DAY", "NOW"}
	tiers := []string{"CONTENTS", "TIER", "PER DAY", "NOW"}
	for _, days := range f.Days {
		head, tiers = append(head, "IN "+daysOf(days)), append(tiers, "IN "+daysOf(days))
	}
	w := table(out, append(head, "MEASURED")...)
	archive := f.Archive
	archive.Group = "the archive"
	for _, g := range append(slices.Clone(f.Groups), archive) {
		fmt.Fprintf(w, "%s\t%d\t%.3g\t%.3g\t%s\t%s\t%s%s\n", printable(g.Group), g.PVs,
			g.SamplesPerSecond, g.BytesPerSample,
			bytesOf(int64(g.BytesPerDay)), sizeNow(g.Bytes, g.Estimated), sizes(g.Later, len(f.Days)), g.measured())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	w = table(out, tiers...)
	for _, t := range archive.Tiers {
		tier := t.Tier
		if tier == "" {
			tier = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Contents, tier, bytesOf(int64(t.BytesPerDay)), sizeNow(t.Bytes, archive.Estimated),
			strings.TrimSuffix(sizes(t.Later, len(f.Days)), "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.printNotes(out)
}

// printNotes prints when the archive reaches its limit, and what is missing.
func (f *apiForecast) printNotes(out io.Writer) error {
	var b strings.Builder
	switch {
	case f.LimitBytes == 0:
	case f.ReachedInDays == nil:
		fmt.Fprintf(&b, "The archive does not reach the limit (%s: %s) within 10 years.\n", printable(f.Limit), bytesOf(f.LimitBytes))
	default:
		fmt.Fprintf(&b, "The archive reaches the limit (%s: %s) in %d days.\n", printable(f.Limit), bytesOf(f.LimitBytes), *f.ReachedInDays)
	}
	for _, member := range slices.Sorted(maps.Keys(f.Unknown)) {
		fmt.Fprintf(&b, "note: %s: %s\n", printable(member), printable(f.Unknown[member]))
	}
	for _, g := range append(slices.Clone(f.Groups), f.Archive) {
		if g.Unknown != "" {
			name := g.Group
			if name == "" {
				name = "the archive"
			}
			fmt.Fprintf(&b, "note: %s: %s\n", printable(name), printable(g.Unknown))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "\n%s", b.String())
	return err
}

// measured says from how many PVs and which time the rates are.
func (g *apiOutlook) measured() string {
	if g.MeasuredPVs == 0 {
		return "no PV"
	}
	if g.MeasuredSeconds == 0 {
		return fmt.Sprintf("%d PVs, no samples", g.MeasuredPVs)
	}
	return fmt.Sprintf("%d PVs, %s", g.MeasuredPVs, timeOf(g.MeasuredSeconds))
}

// timeOf formats a number of seconds with a unit.
func timeOf(seconds float64) string {
	switch {
	case seconds < 2*3600:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 2*86400:
		return fmt.Sprintf("%.0f h", seconds/3600)
	}
	return fmt.Sprintf("%.0f d", seconds/86400)
}

func sizeNow(bytes int64, estimated bool) string {
	if estimated {
		return "~" + bytesOf(bytes)
	}
	return bytesOf(bytes)
}

// sizes returns n sizes, each with a tab after it. An absent one is unknown.
func sizes(bytes []int64, n int) string {
	var b strings.Builder
	for i := range n {
		text := "-"
		if i < len(bytes) {
			text = bytesOf(bytes[i])
		}
		b.WriteString(text + "\t")
	}
	return b.String()
}

// daysOf formats a number of days as manifests do.
func daysOf(days int) string {
	if days > 0 && days%365 == 0 {
		return strconv.Itoa(days/365) + "y"
	}
	return strconv.Itoa(days) + "d"
}
