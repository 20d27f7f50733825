package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/moment"
	"varve.dev/varve/engine/serve/absence"
)

// Exit codes of varve why, besides exitFailed.
const exitCause = 1

// maxWhy bounds the PVs of varve why: each one is a request.
const maxWhy = 100

// whyOptions are the flags of `varve why`.
type whyOptions struct {
	client
	at     string
	format string
}

// newWhy returns the command. The archive is that of cluster, unless it is nil or --url is given.
func newWhy(cluster *clusterArchive) *cobra.Command {
	o := whyOptions{client: client{address{cluster: cluster}}}
	cmd := &cobra.Command{
		Use:   "why PV...",
		Short: "Say why a PV has no samples, or when the last one came",
		Long: `Asks the archive why a PV has no samples, and prints the one reason with what you can do. If
samples arrive, it says when the last one came. A table shows each step on the way of a sample:

  group      a group captures the PV
  search     a server has answered for its name
  connect    the channel is connected
  receive    updates arrive, with right time stamps
  filter     updates pass the deadband, maxRate, enabledBy and other settings
  journal    the engine stores the samples
  store      the store has them
  retention  they are kept: not expired and not deleted
  read       the last sample that readers get

The states of a step are ok, problem, idle (no sample reaches the step), and unknown (the step
could not be asked; the text says why). --at asks for an earlier time, for which samples may
have expired or have been deleted.

A PV may be a pattern with * and ?. Together, the arguments may name 100 PVs.

Exit codes: 0 the archive has what the PVs have sent, 1 it lacks samples of a PV and the cause is
named, 2 the question could not be asked, or the cause is not known.`,
		Example: `  varve why SR01-VA:PRES-01
  varve why SR01-VA:PRES-01 --at 'yesterday 14:00'
  varve why 'SR01-VA:*' -o json`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: o.completePVs,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args, time.Now()) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	o.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "now", "the time in question")
	f.StringVarP(&o.format, "format", "o", "table", "output format: table, or json (a list with an answer for each PV)")
	completeFlag(cmd, "format", []string{"table", "json"})
	return cmd
}

// apiWhy is the answer of /api/v1/why.
type apiWhy struct {
	PV                        string
	OK                        bool
	Cause, Step, Text, Advice string
	Since, Last               time.Time
	Steps                     []struct {
		Step, State, Text string
		Since             time.Time
	}
}

func (o *whyOptions) run(cmd *cobra.Command, args []string, now time.Time) error {
	answers, err := o.ask(cmd, args, now)
	if err != nil {
		return exitError{err, exitFailed}
	}
	lacking, unknown := 0, 0
	for _, raw := range answers {
		var a apiWhy
		if err := json.Unmarshal(raw, &a); err != nil {
			return exitError{fmt.Errorf("decoding the answer of the archive: %w", err), exitFailed}
		}
		switch {
		case a.Cause == absence.Unknown:
			unknown++
		case !a.OK:
			lacking++
		}
		if o.format == "table" {
			if err := a.print(cmd.OutOrStdout()); err != nil {
				return exitError{err, exitFailed}
			}
		}
	}
	if o.format == "json" {
		if err := printJSONList(cmd.OutOrStdout(), answers); err != nil {
			return exitError{err, exitFailed}
		}
	}
	switch {
	case unknown > 0:
		return exitError{fmt.Errorf("the cause is not known for %d of %d PVs", unknown, len(answers)), exitFailed}
	case lacking > 0:
		return exitError{fmt.Errorf("samples are missing for %d of %d PVs", lacking, len(answers)), exitCause}
	}
	return nil
}

// ask requests the answers about all PVs that the arguments stand for.
func (o *whyOptions) ask(cmd *cobra.Command, args []string, now time.Time) (answers []json.RawMessage, err error) {
	if o.format != "table" && o.format != "json" {
		return nil, fmt.Errorf("--format: %q is not table or json", o.format)
	}
	q := ""
	if cmd.Flags().Changed("at") {
		p := moment.Parser{Now: now, Zone: time.Local}
		at, err := p.Parse(o.at)
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		if at.After(now) {
			return nil, fmt.Errorf("--at: %s is in the future; give a time until now", o.at)
		}
		q = "?" + url.Values{"at": {utc(at)}}.Encode()
	}
	var pvs []string
	for _, arg := range args {
		switch {
		case arg == "":
			return nil, errors.New("the name of a PV is empty")
		case !isGlob(arg):
			pvs = append(pvs, arg)
			continue
		}
		names, err := o.expand(cmd, arg)
		if err != nil {
			return nil, err
		}
		pvs = append(pvs, names...)
	}
	if len(pvs) > maxWhy {
		return nil, fmt.Errorf("the arguments name %d PVs, and may name %d; varve status --channels lists the causes of many PVs", len(pvs), maxWhy)
	}
	for _, pv := range pvs {
		var raw json.RawMessage
		if err := o.decode(cmd, "/api/v1/why/"+url.PathEscape(pv)+q, &raw); err != nil {
			return nil, fmt.Errorf("%s: %w", printable(pv), err)
		}
		answers = append(answers, raw)
	}
	return answers, nil
}

// headline is the reason in a sentence, with what to do.
func (a *apiWhy) headline() string {
	text := a.PV + ": " + a.Text
	if !a.OK {
		since := ""
		if !a.Since.IsZero() {
			since = " since " + minuteClock(a.Since)
		}
		text = a.PV + ": " + a.Cause + since + ": " + a.Text
	}
	if a.Advice != "" {
		text += ". " + a.Advice
	}
	return printable(text)
}

// print prints an answer as text.
func (a *apiWhy) print(out io.Writer) error {
	last := "none"
	if !a.Last.IsZero() {
		last = minuteClock(a.Last)
	}
	fmt.Fprintf(out, "%s\nlast sample: %s\n\n", a.headline(), last)
	w := table(out, "STEP", "STATE", "SINCE", "DETAILS")
	for _, s := range a.Steps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(s.Step), printable(s.State), minuteClock(s.Since), printable(s.Text))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

// printJSONList prints a JSON list with an element in each line.
func printJSONList(out io.Writer, elements []json.RawMessage) error {
	p := channelJSON(out)
	for _, raw := range elements {
		if err := p.print(raw); err != nil {
			return err
		}
	}
	return p.end()
}
