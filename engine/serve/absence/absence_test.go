package absence

import (
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// TestEveryAbsenceHasACause checks the answer for every state of a channel and every mark.
func TestEveryAbsenceHasACause(t *testing.T) {
	const now, long = int64(1e18), int64(time.Hour)
	mark := func(k sample.MarkKind, text string) *sample.Mark {
		return &sample.Mark{Time: now - 2*long, Kind: k, Text: text}
	}
	absent := func(s capture.State, k sample.MarkKind, cause string) *capture.Status {
		return &capture.Status{State: s, Absent: k, AbsentSince: now - 5, Since: now - 7, Cause: cause, Host: "ioc:5064"}
	}
	for _, c := range []struct {
		name   string
		until  int64
		status *capture.Status
		mark   *sample.Mark
		empty  bool
		last   int64
		want   Cause
	}{
		{name: "connected", until: now, status: absent(capture.Connected, 0, "")},
		{name: "connected without a value", until: now, status: absent(capture.Connected, 0, ""), empty: true,
			want: Cause{Silent, now - 7, "connected to ioc:5064, but no value has arrived"}},
		{name: "never found", until: now, status: absent(capture.Searching, sample.Searching, "no server has answered"), empty: true,
			want: Cause{"searching", now - 5, "no server has answered"}},
		{name: "never found, also by the engine before", until: now, status: absent(capture.Searching, sample.Searching, "no server has answered"),
			mark: mark(sample.Searching, "…"), want: Cause{"searching", now - 2*long, "no server has answered"}},
		{name: "refused, and not found before", until: now, status: absent(capture.Searching, sample.Refused, "found at ioc"), mark: mark(sample.Searching, "…"),
			want: Cause{"refused", now - 5, "found at ioc"}},
		{name: "disconnected", until: now, status: absent(capture.Disconnected, sample.Disconnected, "lost ioc"), last: now - long,
			want: Cause{"disconnected", now - 5, "lost ioc"}},
		{name: "paused", until: now, status: absent(capture.Paused, sample.Paused, "group g is paused"), want: Cause{"paused", now - 5, "group g is paused"}},
		{name: "disabled", until: now, status: absent(capture.Disabled, sample.Disabled, "enabledBy: E != 0 has not been met since T: E is 0"),
			want: Cause{"disabled", now - 5, "enabledBy: E != 0 has not been met since T: E is 0"}},
		{name: "unsupported", until: now, status: absent(capture.Unsupported, 0, "values of type X cannot be archived"),
			want: Cause{Unsupported, now - 7, "values of type X cannot be archived"}},
		{name: "removed", until: now, mark: mark(sample.Removed, "lab/vacuum"),
			want: Cause{"removed", now - 2*long, "no group captures the PV; the last group was lab/vacuum"}},
		{name: "removed while the archiver was stopped", until: now, mark: mark(sample.Stopped, ""), want: Cause{"stopped", now - 2*long, "the archiver was stopped"}},
		{name: "in no group, without a mark", until: now, mark: mark(sample.Connected, "ioc:5064"),
			want: Cause{NotCaptured, 0, "no group captures the PV; the archive does not know since when"}},

		{name: "earlier: connected", until: now - long, mark: mark(sample.Connected, "ioc"), empty: true},
		{name: "earlier: no mark", until: now - long, empty: true,
			want: Cause{Unknown, 0, "the archive has no mark of the PV up to this time: it was not captured yet"}},
		{name: "earlier: samples without a mark", until: now - long, last: now - long},
		{name: "earlier: stopped, connected now", until: now - long, status: absent(capture.Connected, 0, ""), mark: mark(sample.Stopped, ""),
			want: Cause{"stopped", now - 2*long, "the archiver was stopped"}},
		{name: "earlier: another engine captured on", until: now - long, mark: mark(sample.Disconnected, "lost ioc"), last: now - long - 1},
		{name: "earlier: died", until: now - long, mark: mark(sample.Died, ""), last: now - 3*long,
			want: Cause{"died", now - 2*long, "the engine that captured the PV died, and the channel has not connected since"}},
		{name: "earlier: denied", until: now - long, mark: mark(sample.AccessDenied, "ioc: denied"), want: Cause{"access_denied", now - 2*long, "ioc: denied"}},
		{name: "earlier: disabled", until: now - long, mark: mark(sample.Disabled, "disabled by E is 0: captured only while E != 0"), last: now - 3*long,
			want: Cause{"disabled", now - 2*long, "disabled by E is 0: captured only while E != 0"}},
		{name: "earlier: a planned pause", until: now - long, mark: mark(sample.Paused, "lab/g: shutdown (planned from A to B)"),
			want: Cause{"paused", now - 2*long, "group lab/g pauses the PV: shutdown (planned from A to B)"}},
		{name: "earlier: paused", until: now - long, mark: mark(sample.Paused, "lab/g"), want: Cause{"paused", now - 2*long, "group lab/g is paused"}},
		{name: "earlier: resumed", until: now - long, mark: mark(sample.Resumed, "lab/g"),
			want: Cause{"resumed", now - 2*long, "group lab/g was resumed, and the channel has not connected since"}},
	} {
		in := Input{Until: c.until, Now: now, Empty: c.empty, Last: c.last}
		if c.status != nil {
			in.Captured, in.Status = true, *c.status
		}
		if c.mark != nil {
			in.Marked, in.Mark = true, *c.mark
		}
		if got, has := Explain(&in); got != c.want || has != (c.want != Cause{}) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
