package appliance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/stream"
)

// args are the parameters of a call, with the names in its body as parameter pv.
type args struct {
	url.Values
	r    *http.Request
	body []byte // of a POST with JSON objects
}

// The answer of a call is encoded as JSON, unless it has one of these types.
type (
	// text is an answer for people, or in a format of its own.
	text string
	// list is a JSON list whose elements are read while they are sent.
	list iter.Seq2[any, error]
	// pvList is a JSON list of names, and lines are names, one per line. They are read while they are sent.
	pvList iter.Seq2[string, error]
	lines  iter.Seq2[string, error]
)

// statusError is an error with a status code of its own.
type statusError struct {
	error
	code int
}

func notFound(format string, v ...any) error {
	return statusError{fmt.Errorf(format, v...), http.StatusNotFound}
}

// register adds the calls to a mux, and answers for paths that are no calls.
func (h *Handler) register(mux *http.ServeMux) {
	for i := range calls {
		mux.HandleFunc(calls[i].path, func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, &calls[i]) })
	}
	for _, prefix := range prefixes {
		mux.HandleFunc(prefix, unknownCall)
	}
}

// serve answers a call.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, c *call) {
	switch c.kind {
	case changes:
		h.refuse(w, r)
		return
	case edits:
		if h.Edit == nil {
			h.refuse(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
	case unsupported:
		writeError(w, http.StatusNotImplemented, c.path+" is not supported: "+c.why)
		return
	}
	if !c.takes(r.Method) {
		w.Header().Set("Allow", allowed(c))
		writeError(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s takes %s, not %s", c.path, allowed(c), r.Method))
		return
	}
	a, err := c.parse(r)
	if err != nil {
		writeError(w, request.BadCode(w.Header(), err), err.Error())
		return
	}
	var answer any
	if c.heavy {
		leave, err := h.Reads.Enter(r.Context())
		if err != nil {
			h.failCall(w, r, err)
			return
		}
		defer leave()
	}
	if answer, err = c.answer(h, a); err != nil {
		if c.kind == edits {
			noteRefusal(r, err)
		}
		h.failCall(w, r, err)
		return
	}
	h.write(w, r, answer)
}

// takes reports whether a call takes a method.
func (c *call) takes(method string) bool {
	switch method {
	case http.MethodGet:
		return true
	case http.MethodHead:
		return c.kind != edits
	case http.MethodPost:
		return c.post
	}
	return false
}

func allowed(c *call) string {
	var all []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if c.takes(method) {
			all = append(all, method)
		}
	}
	return strings.Join(all, ", ")
}

// parse returns the parameters of a request, from its URL and its body.
func (c *call) parse(r *http.Request) (args, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return args{}, fmt.Errorf("the parameters in the URL cannot be read: %w", err)
	}
	if c.objects && isJSON(r) {
		body, err := readBody(r)
		if err == nil {
			err = request.Known{Ignored: c.known.Ignored}.Check(q)
		}
		return args{q, r, body}, err
	}
	if err := addBody(r, q); err != nil {
		return args{}, err
	}
	return args{Values: q, r: r}, c.known.Check(q)
}

// pv returns the parameter pv of a call about one PV.
func (a args) pv() (string, error) {
	if name := a.Get("pv"); name != "" {
		return name, nil
	}
	return "", badQuery{errors.New("parameter pv: the name of a PV is required")}
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request, answer any) {
	switch answer := answer.(type) {
	case text:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(answer)) // an error means that the client has disconnected
	case list:
		h.writeList(w, r, answer)
	case pvList:
		h.writeNames(w, r, answer)
	case lines:
		h.writeLines(w, r, answer)
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

// writeList writes a JSON list while its elements are read, an element a line.
func (h *Handler) writeList(w http.ResponseWriter, r *http.Request, elements list) {
	out := stream.New(w, "application/json")
	out.Buf = append(out.Buf, '[')
	err := func() error {
		some := false
		for v, err := range elements {
			if err != nil {
				return err
			}
			b, err := json.Marshal(v)
			if err != nil {
				panic("BUG: " + err.Error())
			}
			if some {
				out.Buf = append(out.Buf, ",\n"...)
			}
			some = true
			out.Buf = append(out.Buf, b...)
			if err := out.FlushFull(); err != nil {
				return err
			}
		}
		out.Buf = append(out.Buf, "]\n"...)
		return nil
	}()
	out.Finish(r, h.Log, err, func(err error) { h.failCall(w, r, err) })
}

// failCall answers a call that failed before the first byte of its answer.
func (h *Handler) failCall(w http.ResponseWriter, r *http.Request, err error) {
	var bad badQuery
	var status statusError
	switch {
	case r.Context().Err() != nil: // the client has disconnected
	case errors.As(err, &bad):
		writeError(w, http.StatusBadRequest, err.Error())
	case errors.As(err, &status):
		writeError(w, status.code, err.Error())
	case errors.Is(err, query.ErrUnknownPV):
		writeError(w, http.StatusNotFound, err.Error())
	default:
		h.Log.Error("request failed", "path", r.URL.Path, "err", err)
		writeError(w, request.Code(w.Header(), err), err.Error())
	}
}

// writeError writes an error as the Appliance writes refusals, because clients parse JSON.
func writeError(w http.ResponseWriter, code int, text string) {
	writeJSON(w, code, map[string]string{"validation": text})
}

// unknownCall answers a path that is no call of the Appliance.
func unknownCall(w http.ResponseWriter, r *http.Request) {
	writeError(w, http.StatusNotFound, fmt.Sprintf("%.200q is not a call of the Archiver Appliance; did you mean %s?",
		r.URL.Path, request.MostSimilar(r.URL.Path, paths())))
}

func paths() (all []string) {
	for i := range calls {
		all = append(all, calls[i].path)
	}
	return all
}

// refuse refuses a call that would change something: ArchiveGroups are the only configuration.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	text := "ArchiveGroups define which PVs are archived; add the PV to the manifest of an ArchiveGroup"
	if pv, _, _ := strings.Cut(r.URL.Query().Get("pv"), ","); pv != "" {
		if s, ok, err := h.Channels.Status(r.Context(), pvname.Canonical(pv)); ok && err == nil {
			text = fmt.Sprintf("ArchiveGroup %[2]s defines how PV %[1]s is archived; edit its manifest", pv, s.Group)
		}
	}
	writeError(w, http.StatusForbidden, text)
}

// incomplete wraps the error of an engine whose channels a list would lack.
func incomplete(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the answer would lack PVs: %w: %w", query.ErrNoAnswer, err)
}
