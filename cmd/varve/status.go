package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func newStatus() *cobra.Command {
	var c client
	var channels bool
	var state string
	var watch bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "status [PV-GLOB]",
		Short: "Show the state of groups, channels or shard moves",
		Long: `Shows the state, the rate, and the stored and dropped samples of each group. With
--channels, --state or a name pattern it shows them for each channel.

With --watch it shows the engines of a cluster's archive and the shards that move
between them, until Ctrl-C: on a terminal the latest state, in a pipe one block per
change. The phases of a move are Ordered (the engine has not reacted yet), Joining (the
engine in column TO connects to the PVs) and Draining (the engine in column FROM stores
its last samples and stops). SINCE is when the phase began.`,
		Example: `  varve status
  varve status --channels --state searching
  varve status 'SR01-VA:*'
  varve status --watch`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				switch {
				case len(args) > 0 || channels || state != "":
					return errors.New("--watch shows shard moves and cannot be combined with PV-GLOB, --channels or --state")
				case interval < 100*time.Millisecond:
					return fmt.Errorf("--interval: %v is less than 100ms", interval)
				}
				return c.watch(cmd, interval)
			}
			if len(args) == 0 && !channels && state == "" {
				return c.groups(cmd)
			}
			q := url.Values{"limit": {"1000"}}
			if len(args) > 0 {
				q.Set("pv", args[0])
			}
			if state != "" {
				q.Set("state", state)
			}
			return c.channels(cmd, q)
		},
	}
	c.add(cmd)
	cmd.Flags().BoolVar(&channels, "channels", false, "show every channel")
	cmd.Flags().StringVar(&state, "state", "", "show the channels in this state: searching, connected, disconnected, unsupported or paused")
	cmd.Flags().BoolVar(&watch, "watch", false, "show engines and shard moves until Ctrl-C")
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "interval of --watch")
	return cmd
}

// apiSummary and apiChannel are JSON types of /api/v1.
type apiSummary struct {
	Group                     string
	Channels                  int
	States                    map[string]int
	Rate                      float64
	Received, Stored, Pending uint64
	Dropped                   map[string]uint64
}

type apiChannel struct {
	PV, State, Cause, Type, Sampling string
	Rate                             float64
	Stored                           uint64
	Dropped                          map[string]uint64
	Last                             *struct {
		Value    json.RawMessage
		Severity string
	}
}

func (c *client) groups(cmd *cobra.Command) error {
	var st struct {
		Total   apiSummary
		Groups  []apiSummary
		GivenUp *struct {
			Before, At  string
			Size, Limit int64
		}
	}
	if err := c.decode(cmd, "/api/v1/status", &st); err != nil {
		return err
	}
	w := table(cmd.OutOrStdout(), "GROUP", "CHANNELS", "CONNECTED", "RATE/s", "RECEIVED", "STORED", "DROPPED")
	st.Total.Group = "all"
	for _, g := range append(st.Groups, st.Total) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%d\t%d\t%s\n",
			g.Group, g.Channels, g.States["connected"], g.Rate, g.Received, g.Stored, reasons(g.Dropped))
	}
	if err := w.Flush(); err != nil || st.GivenUp == nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "\nThe disk guard deleted raw samples from before %s: at %s the archive took %d of %d bytes.\n",
		st.GivenUp.Before, st.GivenUp.At, st.GivenUp.Size, st.GivenUp.Limit)
	return err
}

func (c *client) channels(cmd *cobra.Command, q url.Values) error {
	w := table(cmd.OutOrStdout(), "PV", "STATE", "TYPE", "SAMPLING", "RATE/s", "STORED", "DROPPED", "VALUE", "CAUSE")
	for {
		var page struct {
			Channels []apiChannel
			Next     string
		}
		if err := c.decode(cmd, "/api/v1/channels?"+q.Encode(), &page); err != nil {
			return err
		}
		for _, ch := range page.Channels {
			value := "-"
			if ch.Last != nil {
				value = shorten(text(ch.Last.Value), 24)
				if ch.Last.Severity != "NO_ALARM" {
					value += " " + ch.Last.Severity
				}
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t%d\t%s\t%s\t%s\n",
				ch.PV, ch.State, ch.Type, ch.Sampling, ch.Rate, ch.Stored, reasons(ch.Dropped), value, ch.Cause)
		}
		if page.Next == "" {
			return w.Flush()
		}
		q.Set("after", page.Next)
	}
}

func table(out io.Writer, columns ...string) *tabwriter.Writer {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	return w
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
