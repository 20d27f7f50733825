package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// apiChannel is a JSON type of /api/v1.
type apiChannel struct {
	PV, Group, State, Type, Sampling string
	Since                            time.Time
	Rate                             float64
	Received, Stored                 uint64
	LostConnections                  uint64
	Dropped                          map[string]uint64
	NoData                           *apiNoData
	Metadata                         *apiMetadata
	Last                             *struct {
		Time     time.Time
		Value    json.RawMessage
		Severity string
	}
}

// Bounds of the lists that the server answers.
const (
	pageSize  = 1000
	maxSorted = 10000
)

// printChannels prints the channels that match a pattern, or all channels if it is empty.
func (o *statusOptions) printChannels(cmd *cobra.Command, pattern string) error {
	p := channelPrinters[o.format](cmd.OutOrStdout())
	n, err := o.eachChannel(cmd, pattern, p.print)
	switch {
	case err != nil:
		return err
	case n == 0:
		return o.noChannel(cmd, pattern)
	}
	return p.end()
}

// eachChannel calls f for each channel, in the order of --sort, and returns their number.
func (o *statusOptions) eachChannel(cmd *cobra.Command, pattern string, f func(json.RawMessage) error) (n int, err error) {
	limit := pageSize
	q := url.Values{}
	if o.sort != "name" {
		limit = maxSorted
		q.Set("sort", o.sort)
	}
	if o.top > 0 {
		limit = min(limit, o.top)
	}
	q.Set("limit", strconv.Itoa(limit))
	for name, value := range map[string]string{"pv": pattern, "state": o.state} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for {
		var page struct {
			Channels         []json.RawMessage
			Next, Incomplete string
		}
		if err := o.decode(cmd, "/api/v1/channels?"+q.Encode(), &page); err != nil {
			return n, err
		}
		if page.Incomplete != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "Channels are missing: %s\n", printable(page.Incomplete))
		}
		for _, raw := range page.Channels {
			if err := f(raw); err != nil {
				return n, err
			}
			if n++; n == o.top {
				return n, nil
			}
		}
		if len(page.Channels) == maxSorted {
			fmt.Fprintf(cmd.ErrOrStderr(), "These are the first %d channels of the order; a name pattern selects others.\n", maxSorted)
		}
		if page.Next == "" {
			return n, nil
		}
		q.Set("after", page.Next)
	}
}

// noChannel says why no channel is shown.
func (o *statusOptions) noChannel(cmd *cobra.Command, pattern string) error {
	switch {
	case o.state != "" && pattern != "":
		return fmt.Errorf("no channel matches %s and is %s", pattern, o.state)
	case o.state != "":
		return fmt.Errorf("no channel is %s", o.state)
	case pattern == "":
		return fmt.Errorf("the archive captures no channels")
	case isGlob(pattern):
		return fmt.Errorf("no channel matches %s", pattern)
	}
	near := o.nearest(cmd, pattern)
	if len(near) > 0 && near[0] == pattern {
		return fmt.Errorf("no group captures %s; varve get reads its archived samples", pattern)
	}
	return fmt.Errorf("no group captures %s; %s", pattern, suggest(pattern, near))
}

// channelPrinter prints channels, which are in the JSON of /api/v1.
type channelPrinter struct {
	print func(raw json.RawMessage) error
	end   func() error
}

var channelPrinters = map[format]func(io.Writer) channelPrinter{
	tableFormat: channelTable, csvFormat: channelCSV, jsonFormat: channelJSON,
}

func channelTable(out io.Writer) channelPrinter {
	w := table(out, "PV", "STATE", "TYPE", "SAMPLING", "RATE/s", "STORED", "DROPPED", "VALUE", "SINCE", "LAST", "CAUSE")
	return channelPrinter{decoded(func(ch *apiChannel) error {
		since, last, cause := ch.since(), time.Time{}, ""
		value := "-"
		if ch.Last != nil {
			last, value = ch.Last.Time, shorten(printable(ch.Metadata.describe(ch.Type, ch.Last.Value)), 24)
			if ch.Last.Severity != "NO_ALARM" {
				value += " " + ch.Last.Severity
			}
		}
		if ch.NoData != nil {
			cause = printable(ch.NoData.reason())
		}
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t%d\t%s\t%s\t%s\t%s\t%s\n", printable(ch.PV), ch.State, ch.Type, ch.Sampling, ch.Rate, ch.Stored,
			reasons(ch.Dropped), value, minuteClock(since), minuteClock(last), cause)
		return err
	}), w.Flush}
}

// since returns when the channel stopped to deliver samples, or when its state began.
func (ch *apiChannel) since() time.Time {
	if ch.NoData != nil && !ch.NoData.Since.IsZero() {
		return ch.NoData.Since
	}
	return ch.Since
}

// minuteClock formats a time in a table of channels, in local time with its offset.
func minuteClock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05Z07:00")
}

func channelCSV(out io.Writer) channelPrinter {
	w := newCSV(out)
	_ = w.row("pv", "group", "state", "type", "sampling", "rate", "received", "stored", "dropped", "lost_connections",
		"value", "severity", "last", "since", "cause") // flush returns the error
	return channelPrinter{decoded(func(ch *apiChannel) error {
		value, severity, last, cause := "", "", time.Time{}, ""
		if ch.Last != nil {
			value, severity, last = safeCell(text(ch.Last.Value)), ch.Last.Severity, ch.Last.Time
		}
		if ch.NoData != nil {
			cause = safeCell(ch.NoData.reason())
		}
		return w.row(safeCell(ch.PV), ch.Group, ch.State, ch.Type, ch.Sampling, number(ch.Rate), count(ch.Received), count(ch.Stored), count(sum(ch.Dropped)),
			count(ch.LostConnections), value, severity, utc(last), utc(ch.since()), cause)
	}), w.flush}
}

// utc formats a time for programs. A time that is not known is empty.
func utc(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// channelJSON prints a JSON list with a channel in each line.
func channelJSON(out io.Writer) channelPrinter {
	before := "[\n"
	return channelPrinter{func(raw json.RawMessage) error {
		_, err := fmt.Fprintf(out, "%s%s", before, raw)
		before = ",\n"
		return err
	}, func() error {
		_, err := fmt.Fprintln(out, "\n]")
		return err
	}}
}

// decoded returns a function that decodes a channel and passes it to f.
func decoded(f func(*apiChannel) error) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var ch apiChannel
		if err := json.Unmarshal(raw, &ch); err != nil {
			return fmt.Errorf("decoding the answer of the archive: %w", err)
		}
		return f(&ch)
	}
}
