package appliance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/engine/serve/request"
)

// refuseBrowsers refuses a request to change something that a web page or a link makes a browser send. As in the
// Appliance, such requests may have the method GET, and a browser that is in an admitted network would send them for
// every page. Pages of the archive itself may send them.
func refuseBrowsers(r *http.Request) error {
	posted := r.Clone(r.Context())
	posted.Method = http.MethodPost
	site := r.Header.Get("Sec-Fetch-Site")
	if err := http.NewCrossOriginProtection().Check(posted); err != nil || site == "none" {
		return statusError{errors.New("a web browser sent this request, for a link or a page of another site, and may not change the archive; use a script"), http.StatusForbidden}
	}
	return nil
}

// change carries out an action on channels, and returns their results in the same order. It returns an error if every channel
// is refused. The archive must know who sends the request.
func (h *Handler) change(a args, action edit.Action, channels []edit.Channel) ([]edit.Result, error) {
	ctx := a.r.Context()
	if err := refuseBrowsers(a.r); err != nil {
		return nil, err
	}
	sender := access.From(ctx)
	if sender == nil {
		return nil, statusError{errors.New("the archive does not know who sends this request, so it changes nothing"), http.StatusForbidden}
	}
	if len(channels) > edit.MaxChannels {
		return nil, statusError{fmt.Errorf("the request has %d PVs, and may have at most %d: send several requests", len(channels), edit.MaxChannels), http.StatusRequestEntityTooLarge}
	}
	if err := h.asRead(ctx, func() error { return h.lookUp(ctx, action, channels) }); err != nil {
		return nil, err
	}
	results := make([]edit.Result, len(channels))
	req := &edit.Request{Action: action, User: sender.User, Groups: sender.Groups}
	var at []int // the indexes of the channels of req
	for i := range channels {
		if why := unseen(sender, &channels[i]); why != "" {
			results[i] = edit.Result{Outcome: edit.Refused, Reason: why}
			continue
		}
		req.Channels, at = append(req.Channels, channels[i]), append(at, i)
	}
	if len(at) > 0 {
		done, err := h.Edit(ctx, req)
		if err != nil {
			return nil, h.editError(err)
		}
		for k, i := range at {
			results[i] = done[k]
		}
	}
	h.note(sender, action, channels, results)
	return results, allRefused(results)
}

// asRead calls a function that may read the states of all PVs, when it is admitted as a read of samples. The change itself is
// none, because it may wait for the API server.
func (h *Handler) asRead(ctx context.Context, read func() error) error {
	leave, err := h.Reads.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return read()
}

// unseen returns why the sender may not change a PV that it may not read, or "". The text is the same for PVs that do not exist.
func unseen(sender *access.Request, ch *edit.Channel) string {
	for _, name := range []string{ch.PV, ch.Alias} {
		if name != "" && !sender.Reads(name) {
			return fmt.Sprintf("user %q may not read %s, and so may not change how it is archived", sender.User, name)
		}
	}
	return ""
}

func (h *Handler) editError(err error) error {
	var refusal *edit.Refusal
	if errors.As(err, &refusal) {
		return statusError{refusal, refusal.Code}
	}
	return err
}

// allRefused returns an error if the request changes nothing because everything is refused.
func allRefused(results []edit.Result) error {
	if len(results) == 0 || slices.ContainsFunc(results, func(r edit.Result) bool { return r.Outcome != edit.Refused }) {
		return nil
	}
	text := results[0].Reason
	if more := len(results) - 1; more > 0 {
		text += fmt.Sprintf("; %d more PVs are refused, too", more)
	}
	return statusError{errors.New(text), http.StatusForbidden}
}

// noteRefusal notes for the audit log why the sender of a request may not change something.
func noteRefusal(r *http.Request, err error) {
	var status statusError
	if sender := access.From(r.Context()); sender != nil && errors.As(err, &status) && status.code == http.StatusForbidden {
		sender.NoteRefusal(err.Error())
	}
}

// note writes what was changed to the log and to the audit log.
func (h *Handler) note(sender *access.Request, action edit.Action, channels []edit.Channel, results []edit.Result) {
	changed := map[string][]string{} // PVs by group
	var groups []string
	for i := range results {
		if r := &results[i]; r.Outcome == edit.Done {
			if changed[r.Group] == nil {
				groups = append(groups, r.Group)
			}
			changed[r.Group] = append(changed[r.Group], channels[i].PV)
		}
	}
	for _, g := range groups {
		pvs := changed[g]
		sender.NoteChange(access.Change{Action: string(action), ArchiveGroup: g, PVs: pvs})
		h.Log.Info("a request changed an ArchiveGroup", "group", g, "action", action, "pvs", len(pvs), "first", pvs[0], "user", sender.User, "method", sender.Method)
	}
}

// lookUp sets what the archive captures of each channel. It replaces an alias by its PV.
func (h *Handler) lookUp(ctx context.Context, action edit.Action, channels []edit.Channel) error {
	state, err := h.states(ctx, channels)
	if err != nil {
		return err
	}
	for i := range channels {
		ch := &channels[i]
		if s, captured := state(ch.PV); captured {
			ch.PV = s.PV
			ch.Archived = &edit.Archived{Group: s.Group, Provider: strings.ToUpper(s.Provider.String())}
		}
		// An alias that has a state of its own is a PV. The state of an alias of a PV has the name of the PV.
		if s, captured := state(ch.Alias); captured && s.PV == ch.Alias {
			ch.AliasGroup = s.Group
		}
		if action == edit.Abort && ch.Archived != nil {
			info, err := h.infoOf(args{Values: map[string][]string{"pv": {ch.PV}}, r: requestWith(ctx)})
			if err != nil {
				return err
			}
			ch.Archived.Connected = info.meta.Type.Valid()
		}
	}
	return nil
}

func requestWith(ctx context.Context) *http.Request { return (&http.Request{}).WithContext(ctx) }

// states returns a function that returns the state of a PV, also by its alias. The PVs and aliases of channels are known to it.
func (h *Handler) states(ctx context.Context, channels []edit.Channel) (func(name string) (capture.Status, bool), error) {
	found := map[string]capture.Status{}
	get := func(name string) (capture.Status, bool) {
		s, has := found[name]
		return s, has
	}
	wanted := map[string]bool{}
	for i := range channels {
		for _, name := range []string{channels[i].PV, channels[i].Alias} {
			if name != "" {
				wanted[name] = true
			}
		}
	}
	if len(wanted) <= fewNames {
		for name := range wanted {
			s, captured, err := h.Channels.Status(ctx, name)
			if err != nil {
				return nil, incomplete(ctx, err)
			}
			if captured {
				found[name] = s
			}
		}
		return get, nil
	}
	aliases, err := h.givenAliases(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for s, err := range h.Channels.Statuses(ctx) {
		if err != nil {
			return nil, incomplete(ctx, err)
		}
		if wanted[s.PV] {
			found[s.PV] = s
		}
		for _, alias := range aliases[s.PV] {
			found[alias] = s
		}
	}
	return get, nil
}

// named returns a channel for each name of a list. Globs stand for the archived PVs that they match.
func (h *Handler) named(ctx context.Context, names []string) ([]edit.Channel, error) {
	var out []edit.Channel
	seen := map[string]bool{}
	add := func(pv string) {
		if !seen[pv] {
			seen[pv] = true
			out = append(out, edit.Channel{PV: pv})
		}
	}
	var globs []string
	for _, name := range names {
		if request.IsGlob(name) {
			globs = append(globs, name)
		} else {
			add(pvname.Canonical(name))
		}
	}
	if len(globs) > 0 {
		match, err := request.Globs(globs...)
		if err != nil {
			return nil, badQuery{err}
		}
		for s, err := range h.Channels.Statuses(ctx) {
			switch {
			case err != nil:
				return nil, incomplete(ctx, err)
			case len(out) > edit.MaxChannels:
				return out, nil // too many, which is refused
			case match(s.PV):
				add(s.PV)
			}
		}
	}
	return out, nil
}

// one returns the channel of a call about one PV.
func (a args) one() ([]edit.Channel, error) {
	name, err := a.pv()
	if err != nil {
		return nil, err
	}
	return []edit.Channel{{PV: pvname.Canonical(name), Provider: strings.ToUpper(pvname.Scheme(name))}}, nil
}
