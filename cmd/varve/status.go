package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/serve/native"
)

// statusOptions are the flags of `varve status`.
type statusOptions struct {
	client
	channels bool
	state    string
	sort     string
	top      int
	format   format
	watch    bool
	interval time.Duration
}

// newStatus returns the command. The archive is that of cluster, unless it is nil or --url is given.
func newStatus(cluster *clusterArchive) *cobra.Command {
	o := statusOptions{client: client{address{cluster: cluster}}, format: tableFormat}
	cmd := &cobra.Command{
		Use:   "status [PV-GLOB]",
		Short: "Show the state of groups, channels or shard moves",
		Long: `Shows the state, the rate, and the stored and dropped samples of each group. With
--channels, --state, --sort, --top or a name pattern it shows them for each channel. SINCE
is when the state began, LAST is the time of the last sample. The exit code is 1 if no
channel matches.

With --watch it shows the engines of a cluster's archive and the shards that move
between them, until Ctrl-C: on a terminal the latest state, in a pipe one block per
change. The phases of a move are Ordered (the engine has not reacted yet), Joining (the
engine in column TO connects to the PVs) and Draining (the engine in column FROM stores
its last samples and stops). SINCE is when the phase began.`,
		Example: `  varve status
  varve status --state searching
  varve status --sort rate --top 20 -o json
  varve status 'SR01-VA:*'
  varve status --watch`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completePVs,
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := strings.Join(args, "")
			if err := o.check(cmd, pattern); err != nil {
				return err
			}
			switch {
			case o.watch:
				return o.client.watch(cmd, o.interval)
			case o.ofChannels(pattern):
				return o.printChannels(cmd, pattern)
			}
			return o.printGroups(cmd)
		},
	}
	o.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.channels, "channels", false, "show every channel")
	f.StringVar(&o.state, "state", "", "show the channels in this state: "+strings.Join(states(), ", "))
	f.StringVar(&o.sort, "sort", "name", "order of the channels: "+strings.Join(sortKeys(), ", "))
	f.IntVar(&o.top, "top", 0, "show only the first channels of the order (default: all)")
	f.BoolVar(&o.watch, "watch", false, "show engines and shard moves until Ctrl-C")
	addDuration(f, &o.interval, "interval", time.Second, "interval of --watch")
	addFormat(cmd, &o.format)
	completeFlag(cmd, "state", states())
	completeFlag(cmd, "sort", sortKeys())
	return cmd
}

// states returns the names of the states of channels.
func states() (names []string) {
	for s := range capture.NumStates {
		names = append(names, capture.State(s).String())
	}
	return names
}

// sortKeys returns the values of --sort.
func sortKeys() []string { return append([]string{"name"}, native.Orders...) }

// ofChannels reports whether the status of channels is wanted instead of that of groups.
func (o *statusOptions) ofChannels(pattern string) bool {
	return pattern != "" || o.channels || o.state != "" || o.sort != "name" || o.top > 0
}

func (o *statusOptions) check(cmd *cobra.Command, pattern string) (err error) {
	if cmd.Flags().Changed("state") {
		if o.state, err = oneOf("state", o.state, states()); err != nil {
			return err
		}
	}
	if o.sort, err = oneOf("sort", o.sort, sortKeys()); err != nil {
		return err
	}
	switch {
	case o.top < 0:
		return fmt.Errorf("--top: %d is negative", o.top)
	case o.top > maxSorted && o.sort != "name":
		return fmt.Errorf("--top: %d is more than %d", o.top, maxSorted)
	case o.watch && (o.ofChannels(pattern) || o.format != tableFormat):
		return errors.New("--watch shows shard moves and cannot be combined with PV-GLOB, --channels, --state, --sort, --top or --format")
	case o.watch && o.interval < 100*time.Millisecond:
		return fmt.Errorf("--interval: %v is less than 100ms", o.interval)
	}
	return nil
}

// oneOf returns the value of a list that a user means. Case does not matter.
func oneOf(flag, text string, list []string) (string, error) {
	for _, v := range list {
		if strings.EqualFold(v, text) {
			return v, nil
		}
	}
	return "", fmt.Errorf("--%s: %q is not one of %s", flag, text, strings.Join(list, ", "))
}

// apiSummary is a JSON type of /api/v1.
type apiSummary struct {
	Group                     string
	Channels                  int
	States                    map[string]int
	Rate                      float64
	Received, Stored, Pending uint64
	Dropped                   map[string]uint64
}

// apiStatus is the answer of /api/v1/status.
type apiStatus struct {
	Total   apiSummary
	Groups  []apiSummary
	GivenUp *struct {
		Before, At  string
		Size, Limit int64
	}
	Warnings []string
}

func (o *statusOptions) printGroups(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	var raw json.RawMessage
	if err := o.decode(cmd, "/api/v1/status", &raw); err != nil {
		return err
	}
	if o.format == jsonFormat {
		_, err := fmt.Fprintf(out, "%s\n", raw)
		return err
	}
	var st apiStatus
	if err := json.Unmarshal(raw, &st); err != nil {
		return fmt.Errorf("decoding the answer of the archive: %w", err)
	}
	st.Total.Group = "all"
	if o.format == csvFormat {
		return groupsCSV(out, st.Groups)
	}
	w := table(out, "GROUP", "CHANNELS", "CONNECTED", "RATE/s", "RECEIVED", "STORED", "DROPPED")
	for _, g := range append(st.Groups, st.Total) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%d\t%d\t%s\n",
			g.Group, g.Channels, g.States[capture.Connected.String()], g.Rate, g.Received, g.Stored, reasons(g.Dropped))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return st.printProblems(out)
}

// printProblems prints what needs attention.
func (st *apiStatus) printProblems(out io.Writer) error {
	for _, text := range st.Warnings {
		fmt.Fprintf(out, "\nwarning: %s\n", printable(text))
	}
	if st.GivenUp == nil {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nThe disk guard deleted raw samples from before %s: at %s the archive took %d of %d bytes.\n",
		st.GivenUp.Before, st.GivenUp.At, st.GivenUp.Size, st.GivenUp.Limit)
	return err
}

func groupsCSV(out io.Writer, groups []apiSummary) error {
	w := newCSV(out)
	_ = w.row("group", "channels", "connected", "rate", "received", "stored", "dropped") // flush returns the error
	for _, g := range groups {
		_ = w.row(g.Group, strconv.Itoa(g.Channels), strconv.Itoa(g.States[capture.Connected.String()]), number(g.Rate),
			count(g.Received), count(g.Stored), count(sum(g.Dropped)))
	}
	return w.flush()
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
func count(n uint64) string   { return strconv.FormatUint(n, 10) }

func sum(counts map[string]uint64) (all uint64) {
	for _, n := range counts {
		all += n
	}
	return all
}

// reasons formats counts by reason, such as "deadband 12, rate 3".
func reasons(dropped map[string]uint64) string {
	var parts []string
	for _, r := range slices.Sorted(maps.Keys(dropped)) {
		parts = append(parts, fmt.Sprintf("%s %d", r, dropped[r]))
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, ", ")
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
