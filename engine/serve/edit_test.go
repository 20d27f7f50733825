package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/serve/audit"
	"varve.dev/varve/engine/serve/edit"
)

// editing is an archive whose editor writes down requests, and answers with an outcome for each PV.
type editing struct {
	*guarded
	got      []*edit.Request
	outcomes map[string]edit.Result // by PV; the others are done
	err      error
	log      bytes.Buffer
}

func newEditing(t *testing.T, file string) *editing {
	t.Helper()
	e := &editing{guarded: newGuarded(t, file), outcomes: map[string]edit.Result{}}
	e.cfg.Audit = audit.New(&e.log, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	e.cfg.Edit = func(_ context.Context, r *edit.Request) ([]edit.Result, error) {
		e.got = append(e.got, r)
		results := make([]edit.Result, len(r.Channels))
		for i := range r.Channels {
			results[i] = edit.Result{Outcome: edit.Done, Group: "ns/scripts"}
			if out, has := e.outcomes[r.Channels[i].PV]; has {
				results[i] = out
			}
		}
		return results, e.err
	}
	e.serve()
	return e
}

// send sends a request with the token of ann.
func (e *editing) send(method, path, body string, headers ...string) (int, string) {
	e.t.Helper()
	res, text, err := e.do(method, path, body, append(headers, "Authorization", "Bearer "+e.ann)...)
	e.check(err)
	if res.StatusCode/100 == 2 && res.Header.Get("Cache-Control") != "no-store" {
		e.t.Errorf("%s may be cached", path)
	}
	return res.StatusCode, strings.TrimSpace(text)
}

// last returns the last request that reached the editor, and forgets all.
func (e *editing) last() *edit.Request {
	e.t.Helper()
	if len(e.got) == 0 {
		e.t.Fatal("no request has reached the editor")
	}
	r := e.got[len(e.got)-1]
	e.got = nil
	return r
}

// lines returns the lines of the audit log. It stops the log.
func (e *editing) lines() (all []audit.Entry) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.t.Context())
	cancel()
	e.cfg.Audit.Run(ctx)
	for line := range strings.Lines(e.log.String()) {
		var entry audit.Entry
		e.check(json.Unmarshal([]byte(line), &entry))
		all = append(all, entry)
	}
	return all
}

// TestChangesOfScripts sends each call as scripts for the Appliance do, and checks the request and the answer.
func TestChangesOfScripts(t *testing.T) {
	e := newEditing(t, allMethods+secretRule)
	const form, list = "application/x-www-form-urlencoded", "application/json"
	e.outcomes["IN"] = edit.Result{Outcome: edit.Unchanged, Group: "ns/scripts", Reason: "already"}
	e.outcomes["BUSY"] = edit.Result{Outcome: edit.Unfit, Group: "ns/scripts", Reason: "PV BUSY is already paused"}
	e.outcomes["FULL"] = edit.Result{Outcome: edit.Refused, Reason: "the group is full"}
	for _, c := range []struct {
		path, kind, body string // a POST if kind is not empty
		want             string // the request, or "" if it does not reach the editor
		code             int
		answer           string
	}{
		{"archivePV?pv=A", "", "", "archive [A]", 200, `[{"pvName":"A","status":"Archive request submitted"}]`},
		{"archivePV?pv=A,IN,FULL", "", "", "archive [A IN FULL]", 200, `[{"pvName":"A","status":"Archive request submitted"},{"pvName":"IN","status":"Already submitted"},{"pvName":"FULL","status":"Refused","validation":"the group is full"}]`},
		{"archivePV?pv=FULL", "", "", "archive [FULL]", 403, `{"validation":"the group is full"}`},
		{"archivePV?pv=pva://A.VAL&samplingperiod=2.5&samplingmethod=SCAN&policy=slow&appliance=appliance0", "", "", "archive [A PVA slow SCAN 2.5s]", 200, "submitted"},
		{"archivePV?pv=A&samplingperiod=1.0", "", "", "archive [A MONITOR 1s]", 200, "submitted"},
		{"archivePV", form, "pv=A,B&samplingmethod=MONITOR", "archive [A MONITOR 0s B MONITOR 0s]", 200, "submitted"},
		{"archivePV", list, `[{"pv":"A","samplingperiod":"1.0","samplingmethod":"scan"},{"pv":"B","samplingperiod":2,"alias":"B2"}]`, "archive [A SCAN 1s B MONITOR 2s B2]", 200, "submitted"},
		{"archivePV", list, `[{"pv":"A","period":1}]`, "", 400, `unknown field \"period\"`},
		{"archivePV", list, `[{"pv":"A"}] x`, "", 400, "more text after the JSON list"},
		{"archivePV?samplingperiod=1", list, `[{"pv":"A"}]`, "", 400, "samplingperiod"},
		{"archivePV", list, `[{"samplingperiod":"1"}]`, "", 400, "PV 1 of the request"},
		{"archivePV", list, `[]`, "", 400, "the name of a PV is required"},
		{"archivePV?pv=A&samplingmethod=SCAN", "", "", "", 400, "the method SCAN requires it"},
		{"archivePV?pv=A&samplingmethod=DONT_ARCHIVE", "", "", "", 400, "neither MONITOR nor SCAN"},
		{"archivePV?pv=A&samplingperiod=NaN", "", "", "", 400, "not a positive number"},
		{"archivePV?pv=A&samplingperiod=1e300", "", "", "", 400, "not a positive number"},
		{"archivePV?pv=A&samplingperiods=1", "", "", "", 400, "did you mean samplingperiod"},
		{"archivePV?pv=A&controllingPV=B", "", "", "", 400, "enabledBy: {pv: B}"},
		{"archivePV?pv=A,B&alias=C", "", "", "", 400, "several PVs cannot have the same alias"},

		{"pauseArchivingPV?pv=A", "", "", "pause [A]", 200, `[{"engine_desc":"Successfully paused the archiving of PV A","engine_pvName":"A","engine_status":"ok","etl_pvName":"A","etl_status":"ok","pvName":"A","status":"ok"}]`},
		{"pauseArchivingPV?pv=BUSY", "", "", "pause [BUSY]", 200, `[{"pvName":"BUSY","validation":"PV BUSY is already paused"}]`},
		{"pauseArchivingPV?pv=PUBLIC:*", "", "", "pause [PUBLIC:X ns/public]", 200, `"status":"ok"`},
		{"pauseArchivingPV", "text/plain", "A\nB\n", "pause [A B]", 200, `"status":"ok"`},
		{"resumeArchivingPV", list, `["A","B"]`, "resume [A B]", 200, "Successfully resumed the archiving of PV B"},
		{"pauseArchivingPV", "", "", "", 400, "a list of names is required"},
		{"deletePV?pv=A", "", "", "remove [A]", 200, `{"status":"ok","validation":""}`},
		{"deletePV?pv=A,BUSY&deleteData=False", "", "", "remove [A BUSY]", 200, `{"validation":"PV BUSY is already paused"}`},
		{"deletePV?pv=A&deleteData=true", "", "", "", 403, "spec.deletions"},
		{"abortArchivingPV?pv=BUSY", "", "", "abort [BUSY]", 200, `{"desc":"PV BUSY is already paused","status":"no"}`},
		{"abortArchivingPV?pv=A", "", "", "abort [A]", 200, `{"desc":"Aborted request for archiving PV A","status":"ok"}`},
		{"changeArchivalParameters?pv=A&samplingperiod=5&samplingmethod=SCAN", "", "", "change sampling [A SCAN 5s]", 200, `{"desc":"Successfully changed the archival parameters for A","status":"ok"}`},
		{"changeArchivalParameters?pv=A&samplingperiod=0.5", "", "", "change sampling [A 500ms]", 200, `"status":"ok"`},
		{"changeArchivalParameters?pv=A", "", "", "", 400, "parameter samplingperiod"},
		{"changeArchivalParameters?pv=BUSY&samplingperiod=5", "", "", "change sampling [BUSY 5s]", 404, `{"validation":"PV BUSY is already paused"}`},
		{"addAlias?pv=A&aliasname=A2.VAL&useThisAppliance=true", "", "", "add alias [A A2]", 200, `{"desc":"Added an alias A2 for PV A","status":"ok"}`},
		{"addAlias?pv=A&aliasname=PUBLIC:X", "", "", "add alias [A PUBLIC:X alias of ns/public]", 200, "ok"},
		{"addAlias?pv=A", "", "", "", 400, "parameter aliasname"},
		{"removeAlias?pv=A&aliasname=A2", "", "", "remove alias [A A2]", 200, `{"desc":"Removed an alias A2 for PV A","status":"ok"}`},
	} {
		e.got = nil
		method, headers := http.MethodGet, []string(nil)
		if c.kind != "" {
			method, headers = http.MethodPost, []string{"Content-Type", c.kind}
		}
		code, answer := e.send(method, "/mgmt/bpl/"+c.path, c.body, headers...)
		if code != c.code || !strings.Contains(answer, c.answer) || strings.HasPrefix(c.answer, "[") && answer != c.answer || !json.Valid([]byte(answer)) {
			t.Errorf("%s %s returns %d %s, want %d %s", c.path, c.body, code, answer, c.code, c.answer)
		}
		got := ""
		if len(e.got) > 0 {
			got = describe(e.last())
		}
		if got != c.want {
			t.Errorf("%s %s: the request is %q, want %q", c.path, c.body, got, c.want)
		}
	}
}

// describe returns a request in one line.
func describe(r *edit.Request) string {
	var words []string
	for i := range r.Channels {
		ch := &r.Channels[i]
		words = append(words, ch.PV)
		for _, word := range []string{ch.Provider, ch.Group} {
			if word != "" {
				words = append(words, word)
			}
		}
		if s := ch.Sampling; s != nil {
			words = append(words, strings.TrimSpace(fmt.Sprint(s.Method, " ", s.Period)))
		}
		if ch.Alias != "" {
			words = append(words, ch.Alias)
		}
		if ch.AliasGroup != "" {
			words = append(words, "alias of "+ch.AliasGroup)
		}
		if ch.Archived != nil {
			words = append(words, ch.Archived.Group)
		}
	}
	return fmt.Sprint(r.Action, " ", words)
}

// TestAnAbortKnowsWhetherAPVHasConnected checks a PV that has metadata in the store.
func TestAnAbortKnowsWhetherAPVHasConnected(t *testing.T) {
	e := newEditing(t, allMethods+secretRule)
	e.send(http.MethodGet, "/mgmt/bpl/abortArchivingPV?pv=PUBLIC:X", "")
	if a := e.last().Channels[0].Archived; a == nil || a.Group != "ns/public" || a.Provider != "CA" {
		t.Errorf("the PV is archived as %+v", a)
	}
}

// TestChangesNeedAnIdentity checks that nobody changes anything without an identity, from a web page, or by a method that
// must not change anything.
func TestChangesNeedAnIdentity(t *testing.T) {
	e := newEditing(t, allMethods+secretRule)
	const path = "/mgmt/bpl/archivePV?pv=A"
	for name, c := range map[string]struct {
		method  string
		headers []string
		code    int
	}{
		"no token":              {http.MethodGet, nil, http.StatusUnauthorized},
		"a wrong token":         {http.MethodGet, []string{"Authorization", "Bearer x"}, http.StatusUnauthorized},
		"HEAD":                  {http.MethodHead, []string{"Authorization", "Bearer " + e.ann}, http.StatusMethodNotAllowed},
		"an image of a page":    {http.MethodGet, []string{"Authorization", "Bearer " + e.ann, "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a link in a mail":      {http.MethodGet, []string{"Authorization", "Bearer " + e.ann, "Sec-Fetch-Site", "none"}, http.StatusForbidden},
		"a page by old browser": {http.MethodGet, []string{"Authorization", "Bearer " + e.ann, "Origin", "https://elsewhere.example.org"}, http.StatusForbidden},
		"PUT":                   {http.MethodPut, []string{"Authorization", "Bearer " + e.ann}, http.StatusMethodNotAllowed},
	} {
		res, text, err := e.do(c.method, path, "", c.headers...)
		e.check(err)
		if res.StatusCode != c.code {
			t.Errorf("%s returns %d %s, want %d", name, res.StatusCode, text, c.code)
		}
	}
	if len(e.got) > 0 {
		t.Errorf("the editor got %+v", e.got)
	}
	if code, text := e.send(http.MethodGet, path, "", "Sec-Fetch-Site", "same-origin"); code != http.StatusOK || len(e.got) != 1 {
		t.Errorf("a page of the archive gets %d %s", code, text)
	}
	if r := e.last(); r.User != "ann" || strings.Join(r.Groups, " ") != "vacuum" {
		t.Errorf("the sender is %q of %q", r.User, r.Groups)
	}
	e.cfg.Access, e.cfg.Policies = nil, func() (*policy.Set, bool) { return nil, true } // with policies, everybody is anonymous
	e.serve()
	if code, text := e.send(http.MethodGet, path, ""); code != http.StatusForbidden || len(e.got) > 0 {
		t.Errorf("an archive without access returns %d %s", code, text)
	}
}

// TestChangesOfHiddenPVs checks that a sender changes nothing about a PV that it may not read, and learns nothing about it.
func TestChangesOfHiddenPVs(t *testing.T) {
	e := newEditing(t, allMethods+secretRule)
	e.ann = e.bob
	for _, path := range []string{"archivePV?pv=SECRET:A", "pauseArchivingPV?pv=SECRET:A", "addAlias?pv=B&aliasname=SECRET:A", "deletePV?pv=SECRET:A"} {
		code, text := e.send(http.MethodGet, "/mgmt/bpl/"+path, "")
		_, same := e.send(http.MethodGet, "/mgmt/bpl/"+strings.Replace(path, "SECRET:A", "SECRET:NONE", 1), "")
		if code != http.StatusForbidden || text != strings.ReplaceAll(same, "SECRET:NONE", "SECRET:A") {
			t.Errorf("%s returns %d %s, and %s about a PV that does not exist", path, code, text, same)
		}
	}
	if code, text := e.send(http.MethodGet, "/mgmt/bpl/pauseArchivingPV?pv=SECRET:*,PUBLIC:X", ""); code != http.StatusOK || describe(e.last()) != "pause [PUBLIC:X ns/public]" {
		t.Errorf("a glob returns %d %s", code, text)
	}
	if len(e.got) > 0 {
		t.Errorf("the editor got %+v", e.got)
	}
}

// TestChangesAreBounded checks the number of PVs of a request, and its body.
func TestChangesAreBounded(t *testing.T) {
	e := newEditing(t, allMethods+secretRule)
	names := strings.Repeat("A,", edit.MaxChannels)
	var each []string
	for i := range edit.MaxChannels + 1 {
		each = append(each, fmt.Sprintf("A%d", i))
	}
	for _, c := range []struct {
		path, body string
		code       int
	}{
		{"archivePV", "pv=" + names + "A", http.StatusBadRequest},
		{"pauseArchivingPV", "pv=" + strings.Join(each, ","), http.StatusRequestEntityTooLarge},
		{"pauseArchivingPV", "pv=" + strings.Join(each[1:], ","), http.StatusOK},
		{"archivePV", "pv=" + strings.Repeat("A", maxBody), http.StatusRequestEntityTooLarge},
	} {
		if code, text := e.send(http.MethodPost, "/mgmt/bpl/"+c.path, c.body, "Content-Type", "application/x-www-form-urlencoded"); code != c.code {
			t.Errorf("%s with %d bytes returns %d %.200s", c.path, len(c.body), code, text)
		}
	}
}

// TestTheAuditLogNamesEachChange checks the lines of a change, of a refusal and of a failure. A change of many PVs names all of
// them.
func TestTheAuditLogNamesEachChange(t *testing.T) {
	e := newEditing(t, allMethods+secretRule)
	e.outcomes["FULL"] = edit.Result{Outcome: edit.Refused, Reason: "the group is full"}
	var each []string
	for i := range notedPVs + 1 {
		each = append(each, fmt.Sprintf("A%03d", i))
	}
	e.send(http.MethodPost, "/mgmt/bpl/pauseArchivingPV", "pv="+strings.Join(each, ",")+",FULL", "Content-Type", "application/x-www-form-urlencoded")
	e.send(http.MethodGet, "/mgmt/bpl/archivePV?pv=FULL", "")
	e.err = &edit.Refusal{Code: http.StatusForbidden, Text: "not now"}
	if code, text := e.send(http.MethodGet, "/mgmt/bpl/archivePV?pv=A", ""); code != http.StatusForbidden || text != `{"validation":"not now"}` {
		t.Errorf("a refusal returns %d %s", code, text)
	}
	e.err = errors.New("disk full")
	if code, text := e.send(http.MethodGet, "/mgmt/bpl/archivePV?pv=A", ""); code != http.StatusInternalServerError {
		t.Errorf("a failure returns %d %s", code, text)
	}
	lines := e.lines()
	var changed, refused []audit.Entry
	pvs := map[string]bool{}
	for _, l := range lines {
		switch l.Decision {
		case audit.Changed:
			changed = append(changed, l)
			for _, pv := range l.PVs {
				pvs[pv] = true
			}
		case audit.Refused:
			refused = append(refused, l)
		}
	}
	if len(changed) != 2 || len(pvs) != len(each) || pvs["FULL"] || changed[0].User != "ann" || changed[0].Action != "pause" || changed[0].ArchiveGroup != "ns/scripts" ||
		changed[0].Call != "/mgmt/bpl/pauseArchivingPV" || changed[0].Status != http.StatusOK {
		t.Errorf("%d PVs are named in the lines %+v", len(pvs), changed)
	}
	if len(refused) != 2 || refused[0].Reason != "the group is full" || refused[1].Reason != "not now" || refused[0].Status != http.StatusForbidden {
		t.Errorf("the refusals are %+v", refused)
	}
}
