package appliance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/engine/serve/request"
)

// Parameters of the calls that change a group.
var (
	archiveParameters = request.Known{
		Once: []string{"samplingperiod", "samplingmethod", "policy", "alias", "controllingPV"}, Repeated: []string{"pv"}, Ignored: []string{"appliance"},
	}
	listParameters   = request.Known{Repeated: []string{"pv"}}
	deleteParameters = request.Known{Once: []string{"deleteData"}, Repeated: []string{"pv"}}
	changeParameters = request.Known{Once: []string{"pv", "samplingperiod", "samplingmethod"}}
	aliasParameters  = request.Known{Once: []string{"pv", "aliasname"}, Ignored: []string{"useThisAppliance"}}
)

// editCalls are the calls that change an ArchiveGroup that accepts requests.
var editCalls = []call{
	{path: mgmt + "archivePV", kind: edits, post: true, objects: true, known: archiveParameters, answer: (*Handler).archivePV},
	{path: mgmt + "pauseArchivingPV", kind: edits, post: true, known: listParameters, answer: (*Handler).pausePVs},
	{path: mgmt + "resumeArchivingPV", kind: edits, post: true, known: listParameters, answer: (*Handler).resumePVs},
	{path: mgmt + "deletePV", kind: edits, post: true, known: deleteParameters, answer: (*Handler).deletePVs},
	{path: mgmt + "abortArchivingPV", kind: edits, known: onePV, answer: (*Handler).abortPV},
	{path: mgmt + "changeArchivalParameters", kind: edits, post: true, known: changeParameters, answer: (*Handler).changeParameters},
	{path: mgmt + "addAlias", kind: edits, post: true, known: aliasParameters, answer: (*Handler).addAlias},
	{path: mgmt + "removeAlias", kind: edits, post: true, known: aliasParameters, answer: (*Handler).removeAlias},
}

// archiveRequest is an element of the JSON list in the body of archivePV. The Appliance wants texts, and scripts also
// send numbers.
type archiveRequest struct {
	PV             string     `json:"pv"`
	SamplingPeriod textOrJSON `json:"samplingperiod"`
	SamplingMethod string     `json:"samplingmethod"`
	Policy         string     `json:"policy"`
	Alias          string     `json:"alias"`
	ControllingPV  string     `json:"controllingPV"`
	Appliance      string     `json:"appliance"` // ignored: the archive is one appliance
}

// textOrJSON is a text, or the text of another JSON value, such as 1.5.
type textOrJSON string

// UnmarshalJSON implements json.Unmarshaler.
func (t *textOrJSON) UnmarshalJSON(b []byte) error {
	*t = textOrJSON(b)
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	if string(b) == "null" {
		*t = ""
	}
	return nil
}

// channel returns the channel that a request describes.
func (q *archiveRequest) channel() (edit.Channel, error) {
	ch := edit.Channel{PV: pvname.Canonical(q.PV), Provider: strings.ToUpper(pvname.Scheme(q.PV)), Group: q.Policy}
	if q.Alias != "" {
		ch.Alias = pvname.Canonical(q.Alias)
	}
	if q.PV == "" {
		return ch, errors.New("parameter pv: the name of a PV is required")
	}
	if q.ControllingPV != "" {
		return ch, fmt.Errorf("parameter controllingPV: requests cannot set it; edit the manifest of an ArchiveGroup: {name: %s, enabledBy: {pv: %s}}", ch.PV, q.ControllingPV)
	}
	method, err := methodOf(q.SamplingMethod)
	if err != nil {
		return ch, err
	}
	if q.SamplingPeriod == "" && method == "" {
		return ch, nil
	}
	if method == "" {
		method = edit.Monitor // as in the Appliance
	}
	ch.Sampling = &edit.Sampling{Method: method}
	if q.SamplingPeriod == "" {
		if method == edit.Scan {
			return ch, errors.New("parameter samplingperiod: the method SCAN requires it, in seconds")
		}
		return ch, nil
	}
	ch.Sampling.Period, err = periodOf(string(q.SamplingPeriod))
	return ch, err
}

func methodOf(text string) (edit.Method, error) {
	switch m := edit.Method(strings.ToUpper(text)); m {
	case "", edit.Monitor, edit.Scan:
		return m, nil
	}
	return "", fmt.Errorf("parameter samplingmethod: %.50q is neither MONITOR nor SCAN", text)
}

// periodOf parses a period in seconds.
func periodOf(text string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) || seconds > 1e9 {
		return 0, fmt.Errorf("parameter samplingperiod: %.50q is not a positive number of seconds", text)
	}
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond, nil
}

// archivePV adds PVs to a group. The answer has the status of each PV.
func (h *Handler) archivePV(a args) (any, error) {
	channels, err := a.archived()
	if err != nil {
		return nil, badQuery{err}
	}
	results, err := h.change(a, edit.Archive, channels)
	if err != nil {
		return nil, err
	}
	type status struct {
		PVName     string `json:"pvName"`
		Status     string `json:"status"`
		Validation string `json:"validation,omitempty"`
	}
	out := make([]status, len(results))
	for i := range results {
		out[i].PVName = channels[i].PV
		switch results[i].Outcome {
		case edit.Done:
			out[i].Status = "Archive request submitted"
		case edit.Unchanged:
			out[i].Status = "Already submitted"
		default:
			out[i].Status, out[i].Validation = "Refused", results[i].Reason
		}
	}
	return out, nil
}

// archived returns the channels of an archivePV.
func (a args) archived() ([]edit.Channel, error) {
	var all []archiveRequest
	if isJSON(a.r) {
		d := json.NewDecoder(bytes.NewReader(a.body))
		d.DisallowUnknownFields()
		if err := d.Decode(&all); err != nil {
			return nil, fmt.Errorf("the body of the request is not a JSON list of objects with the member pv: %w", err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, errors.New("the body of the request has more text after the JSON list")
		}
	} else {
		for _, pv := range splitNames(a.Values["pv"]) {
			all = append(all, archiveRequest{
				PV: strings.TrimSpace(pv), SamplingPeriod: textOrJSON(a.Get("samplingperiod")), SamplingMethod: a.Get("samplingmethod"),
				Policy: a.Get("policy"), Alias: a.Get("alias"), ControllingPV: a.Get("controllingPV"),
			})
		}
		if len(all) > 1 && a.Get("alias") != "" {
			return nil, errors.New("parameter alias: several PVs cannot have the same alias")
		}
	}
	if len(all) == 0 {
		return nil, errors.New("parameter pv: the name of a PV is required, in the URL or in the body")
	}
	if len(all) > edit.MaxChannels {
		return nil, fmt.Errorf("the request has %d PVs, and may have at most %d: send several requests", len(all), edit.MaxChannels)
	}
	channels := make([]edit.Channel, len(all))
	for i := range all {
		var err error
		if channels[i], err = all[i].channel(); err != nil {
			return nil, fmt.Errorf("%w (PV %d of the request, %.100q)", err, i+1, all[i].PV)
		}
	}
	return channels, nil
}

// pausePVs pauses PVs, and resumePVs resumes them.
func (h *Handler) pausePVs(a args) (any, error)  { return h.setPaused(a, edit.Pause, "paused") }
func (h *Handler) resumePVs(a args) (any, error) { return h.setPaused(a, edit.Resume, "resumed") }

// setPaused answers as the newer versions of the Appliance: a list, also for one PV.
func (h *Handler) setPaused(a args, action edit.Action, done string) (any, error) {
	channels, results, err := h.changeAll(a, action)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]string, len(results))
	for i := range results {
		pv := channels[i].PV
		if results[i].Outcome == edit.Done {
			out[i] = map[string]string{
				"pvName": pv, "status": "ok", "engine_pvName": pv, "engine_status": "ok", "etl_pvName": pv, "etl_status": "ok",
				"engine_desc": "Successfully " + done + " the archiving of PV " + pv,
			}
			continue
		}
		out[i] = map[string]string{"pvName": pv, "validation": results[i].Reason}
	}
	return out, nil
}

// changeAll carries out an action on the PVs that the parameter pv names.
func (h *Handler) changeAll(a args, action edit.Action) ([]edit.Channel, []edit.Result, error) {
	names := splitNames(a.Values["pv"])
	if len(names) == 0 {
		return nil, nil, badQuery{errors.New("parameter pv: a list of names is required, in the URL or in the body")}
	}
	var channels []edit.Channel
	err := h.asRead(a.r.Context(), func() (err error) {
		channels, err = h.named(a.r.Context(), names)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	results, err := h.change(a, action, channels)
	return channels, results, err
}

// deletePVs stops the archiving of PVs. Their samples stay.
func (h *Handler) deletePVs(a args) (any, error) {
	switch strings.ToLower(a.Get("deleteData")) { // Python writes True and False
	case "", "false":
	default:
		return nil, statusError{errors.New("parameter deleteData: requests do not delete samples; delete the PV without it, and name it in spec.deletions of an ArchiveGroup"), http.StatusForbidden}
	}
	_, results, err := h.changeAll(a, edit.Remove)
	if err != nil {
		return nil, err
	}
	var lines []string
	for i := range results {
		if results[i].Outcome != edit.Done {
			lines = append(lines, results[i].Reason)
		}
	}
	out := map[string]string{"validation": strings.Join(lines, "\n")}
	if len(lines) == 0 {
		out["status"] = "ok"
	}
	return out, nil
}

// abortPV removes a PV that has never connected.
func (h *Handler) abortPV(a args) (any, error) {
	channels, err := a.one()
	if err != nil {
		return nil, err
	}
	results, err := h.change(a, edit.Abort, channels)
	if err != nil {
		return nil, err
	}
	if r := &results[0]; r.Outcome != edit.Done {
		return map[string]string{"status": "no", "desc": r.Reason}, nil
	}
	return map[string]string{"status": "ok", "desc": "Aborted request for archiving PV " + channels[0].PV}, nil
}

// changeParameters changes the sampling of a PV.
func (h *Handler) changeParameters(a args) (any, error) {
	channels, err := a.one()
	if err != nil {
		return nil, err
	}
	sampling := edit.Sampling{}
	if sampling.Method, err = methodOf(a.Get("samplingmethod")); err == nil {
		sampling.Period, err = periodOf(a.Get("samplingperiod"))
	}
	if err != nil {
		return nil, badQuery{err}
	}
	channels[0].Sampling = &sampling
	return h.changeOne(a, edit.Resample, channels, "Successfully changed the archival parameters for "+channels[0].PV)
}

func (h *Handler) addAlias(a args) (any, error) {
	return h.changeAlias(a, edit.AddAlias, "Added an alias %s for PV %s")
}

func (h *Handler) removeAlias(a args) (any, error) {
	return h.changeAlias(a, edit.RemoveAlias, "Removed an alias %s for PV %s")
}

func (h *Handler) changeAlias(a args, action edit.Action, done string) (any, error) {
	channels, err := a.one()
	if err != nil {
		return nil, err
	}
	alias := pvname.Canonical(a.Get("aliasname"))
	if alias == "" {
		return nil, badQuery{errors.New("parameter aliasname: the alias is required")}
	}
	channels[0].Alias = alias
	return h.changeOne(a, action, channels, fmt.Sprintf(done, alias, channels[0].PV))
}

// changeOne carries out an action on one PV. An action that does not fit to the state of the PV is an error.
func (h *Handler) changeOne(a args, action edit.Action, channels []edit.Channel, done string) (any, error) {
	results, err := h.change(a, action, channels)
	if err != nil {
		return nil, err
	}
	if r := &results[0]; r.Outcome == edit.Unfit {
		return nil, statusError{errors.New(r.Reason), http.StatusNotFound}
	}
	return map[string]string{"status": "ok", "desc": done}, nil
}
