package native

import (
	"context"
	"errors"
	"net/http"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/serve/field"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/why"
)

// Surroundings are what explains the state of a PV besides its channel and the store. Functions that are nil are unknown.
type Surroundings struct {
	// Groups returns the groups with their problems, and the numbers of the channels of the group member, if that is not "".
	// incomplete says why groups are missing from the list, and missing why there is no list.
	Groups func(ctx context.Context, pv, member string) (groups []why.Group, incomplete, missing string)
	// Storage returns why the engine with a name cannot store samples, or "" while it can. missing says why that is not known.
	Storage func(ctx context.Context, engine string) (storage, missing string)
}

const (
	// whyTime is how long the server may gather facts. The answer says which facts it could not get in this time.
	whyTime = 10 * time.Second
	// whyNear is how many names like an unknown one are in an answer.
	whyNear = 3
)

// whyAnswer is the JSON form of why.Answer.
type whyAnswer struct {
	PV     string    `json:"pv"`
	At     string    `json:"at"`
	OK     bool      `json:"ok"`
	Cause  string    `json:"cause,omitempty"`
	Step   string    `json:"step,omitempty"`
	Since  string    `json:"since,omitempty"`
	Text   string    `json:"text"`
	Advice string    `json:"advice,omitempty"`
	Last   string    `json:"last,omitempty"`
	Steps  []whyStep `json:"steps"`
}

type whyStep struct {
	Step  string `json:"step"`
	State string `json:"state"`
	Since string `json:"since,omitempty"`
	Text  string `json:"text,omitempty"`
}

// clockOr returns a time as text, or "" for 0.
func clockOr(ns int64) string {
	if ns == 0 {
		return ""
	}
	return clock(ns)
}

func newWhy(f *why.Facts) *whyAnswer {
	a := why.Explain(f)
	out := &whyAnswer{
		PV: f.PV, At: clock(f.At), OK: a.OK, Cause: a.Cause, Step: a.Step, Since: clockOr(a.Since), Text: a.Text, Advice: a.Advice, Last: clockOr(a.Last),
	}
	for _, s := range a.Steps {
		out.Steps = append(out.Steps, whyStep{s.Name, string(s.State), clockOr(s.Since), s.Text})
	}
	return out
}

// why answers why a PV has no samples, or that it has them.
func (h *Handler) why(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	now := h.Now().UnixNano()
	at, err := q.TimeOr("at", now)
	if err == nil && at > now+int64(time.Minute) {
		err = badRequest{errors.New("parameter at: it is in the future; give a time until now")}
	}
	if err != nil {
		h.fail(w, r, badRequest{err})
		return
	}
	leave, err := h.Reads.Enter(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), whyTime)
	defer cancel()
	f := h.gather(ctx, &why.Facts{PV: pvname.Canonical(r.PathValue("pv")), At: min(at, now), Now: now})
	if r.Context().Err() == nil {
		answer(w, http.StatusOK, newWhy(f))
	}
}

// gather completes facts of which the name and the times are known.
func (h *Handler) gather(ctx context.Context, f *why.Facts) *why.Facts {
	pv := h.addOtherNames(ctx, f)
	var err error
	if f.Status, f.Captured, err = h.Channels.Status(ctx, pv); err != nil {
		f.StatusMissing = err.Error()
	}
	if err := h.addStored(ctx, pv, f); err != nil {
		f.StoreMissing = err.Error()
	}
	h.addSurroundings(ctx, pv, f)
	return f
}

// addOtherNames adds the other names of a PV, and returns the name of its channel.
func (h *Handler) addOtherNames(ctx context.Context, f *why.Facts) (pv string) {
	names, err := h.Reader.OtherNames(ctx, f.PV)
	if err == nil {
		f.Later, err = h.Reader.LaterNames(ctx, f.PV)
	}
	if err != nil {
		f.NamesMissing = err.Error()
		return f.PV
	}
	if names.PV != f.PV {
		f.AliasOf = names.PV
		return names.PV
	}
	of, is, err := field.PV(ctx, h.Reader, f.PV)
	if err == nil && is {
		f.FieldOf = of
		return of
	}
	return f.PV
}

// addStored adds what the store knows of a PV. It returns the error of the first part that the store does not answer.
func (h *Handler) addStored(ctx context.Context, pv string, f *why.Facts) (err error) {
	if f.Mark, f.Marked, err = h.Reader.StateMark(ctx, pv, f.At); err != nil {
		return err
	}
	if err = h.addEntry(ctx, pv, f); err != nil {
		return err
	}
	cutoff, found, err := h.Reader.Store.Cutoff(ctx)
	if err != nil {
		return err
	}
	if found {
		f.Cutoff = cutoff.Before
	}
	if err = h.addDeletion(ctx, pv, f); err != nil {
		return err
	}
	if err = h.addLoss(ctx, pv, f); err != nil {
		return err
	}
	if f.Known || f.Captured || f.Marked {
		h.addLast(ctx, pv, f)
		return nil
	}
	list := request.NewNearest(f.PV, whyNear)
	if _, err = h.Reader.Names(ctx, list.Add, whyNear); err != nil {
		return err
	}
	f.Near = list.Names()
	return nil
}

// addEntry adds the directory entry of a PV.
func (h *Handler) addEntry(ctx context.Context, pv string, f *why.Facts) (err error) {
	if f.Entry, f.Known, err = h.Reader.Store.Channel(ctx, pv); err != nil {
		return err
	}
	for _, b := range f.Entry.Starts {
		if b.Size().Valid() && b.Tier().Valid() && (f.First == 0 || b.Start() < f.First) {
			f.First = b.Start()
		}
	}
	if until := scan.WholeSince(f.Entry.Starts, f.Now); f.First != 0 && f.First < until {
		f.Expired = until
	}
	if !f.Known {
		f.Known, err = h.Reader.Known(ctx, pv)
	}
	return err
}

// addDeletion adds the deleted range that has the time.
func (h *Handler) addDeletion(ctx context.Context, pv string, f *why.Facts) (err error) {
	if f.Deleted, f.IsDeleted, err = h.Reader.DeletedAt(ctx, pv, f.At); err != nil || !f.IsDeleted {
		return err
	}
	read := 0
	for m, err := range h.Reader.Marks(ctx, pv, f.Deleted.From, f.At) {
		if err != nil {
			return err
		}
		if m.Kind == sample.SamplesDeleted && f.At <= m.End {
			f.Deletion = m.Text
		}
		if read++; read == maxMarks {
			break
		}
	}
	return nil
}

// longestLoss is how long before the time the mark of a loss that covers it may begin.
const longestLoss = int64(time.Hour)

// addLoss adds the latest mark of lost samples that covers the time.
func (h *Handler) addLoss(ctx context.Context, pv string, f *why.Facts) error {
	read := 0
	for m, err := range h.Reader.Store.LatestMarks(ctx, pv, f.At) {
		if err != nil {
			return err
		}
		if m.Kind == sample.Lost && f.At <= m.End {
			f.IsLost, f.Loss = true, m.Mark
			return nil
		}
		if read++; read == maxMarks || m.Time < f.At-longestLoss {
			return nil
		}
	}
	return nil
}

// maxMarks bounds the marks that are read for a fact.
const maxMarks = 1000

// addLast adds the last sample of a PV.
func (h *Handler) addLast(ctx context.Context, pv string, f *why.Facts) {
	last, err := h.Reader.LastAt(ctx, pv, f.At)
	switch {
	case errors.Is(err, query.ErrUnknownPV):
		return
	case err != nil:
		f.ReadMissing = err.Error()
		return
	}
	if last.Run != nil {
		f.Last = last.Run.Times[0]
	}
	f.Lost = last.Lost
	if last.CompleteUntil != query.Latest {
		f.CompleteUntil = max(1, last.CompleteUntil)
	}
}

// addSurroundings adds what groups and engines know.
func (h *Handler) addSurroundings(ctx context.Context, pv string, f *why.Facts) {
	member := ""
	if f.Captured {
		member = f.Status.Group
	}
	if f.GroupsMissing = "this process does not know the groups"; h.Surroundings.Groups != nil {
		f.Groups, f.GroupsIncomplete, f.GroupsMissing = h.Surroundings.Groups(ctx, pv, member)
	}
	if !f.Captured {
		return
	}
	if f.EngineMissing = "this process does not know the engines"; h.Surroundings.Storage != nil {
		f.Storage, f.EngineMissing = h.Surroundings.Storage(ctx, f.Status.Engine)
	}
}

// whyCall describes the call.
func whyCall() call {
	return call{Call: openapi.Call{
		Path: "/api/v1/why/{pv...}", ID: "why", Summary: "Why a PV has no samples, or when the last one came",
		Description: "The answer names one cause, and describes each step on the way of a sample. A step that could not be asked says so. For a PV that the archive does not know, the cause is unknown_pv.",
		Parameters: []openapi.Parameter{
			{Name: "pv", InPath: true, Description: "The name of the PV. It may contain slashes.", Example: "SR:I"},
			{Name: "at", Kind: openapi.Time, Description: "The time in question. " + openapi.TimeForms + " The default is now.", Example: "-2d"},
		},
		Answers: openapi.Answers(openapi.Ref("Why"), nil, http.StatusServiceUnavailable),
	}, serve: (*Handler).why}
}

// whySchema describes the answer.
func whySchema() openapi.Schema {
	return openapi.Object(members{
		"pv": openapi.String(""), "at": openapi.Timestamp("The time in question."),
		"ok":     openapi.Schema{"type": "boolean", "description": "Nothing keeps samples away: the archive has what the PV has sent."},
		"cause?": openapi.String("The name of the one reason why samples are missing."), "since?": openapi.Timestamp("When the cause began. Absent if that is not known."),
		"step?": openapi.Enum("The step at which samples end.", why.Names()...),
		"text":  openapi.String("The reason in words."), "advice?": openapi.String("What you can do."),
		"last?": openapi.Timestamp("The time of the last sample. Absent if there is none, or if that is not known."),
		"steps": openapi.List(openapi.Object(members{
			"step": openapi.Enum("", why.Names()...), "state": openapi.Enum("idle means that no sample reaches the step.", why.States()...),
			"since?": openapi.Timestamp("When the state began."), "text?": openapi.String(""),
		})),
	})
}
