package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/serve/audit"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/ui"
)

// open reports whether a path is answered without an identity: the UI, which asks for a token, and
// what has no data. Probes of Kubernetes send no tokens.
func open(path string) bool {
	return path == "/" || path == "/healthz" || path == "/readyz" || path == "/api/" || path == documentCall.Path || path == loginCall.Path ||
		strings.HasPrefix(path, "/assets/") || slices.Contains(ui.Pages, strings.TrimPrefix(path, "/"))
}

// identify puts the identity of each request into its context, and refuses those without one. It
// writes the audit log.
func (c *Config) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := c.Now()
		if c.Access != nil && c.Access.TakesTokens() {
			w.Header().Add("Vary", "Authorization") // it also tells the UI to offer the use of a token
		}
		counted := &countingWriter{codeWriter: codeWriter{ResponseWriter: w, code: http.StatusOK}}
		q, err := c.admit(r)
		if err == nil {
			q, err = c.underPolicies(r, q)
		}
		ctx := r.Context()
		if err == nil {
			ctx, err = asIdentity(ctx, q)
		}
		if err != nil {
			refuse(counted, r, err)
			c.note(r, q, counted, begin, err) // q is known if only its share was too small
			return
		}
		inner := r.WithContext(access.With(ctx, q))
		defer func() { // runs also when the answer is aborted
			r.Pattern = inner.Pattern
			c.note(r, q, counted, begin, nil)
		}()
		next.ServeHTTP(counted, inner)
	})
}

// admit returns what a request may read.
func (c *Config) admit(r *http.Request) (*access.Request, error) {
	switch {
	case c.Access == nil:
		return access.Everybody(), nil
	case r.URL.Path != "/healthz" && !c.Access.KnowsHost(r): // /healthz has no data
		return nil, &access.Refusal{Code: http.StatusMisdirectedRequest,
			Text: "this server does not have the name of the host in the request; its administrators can add it to the field hosts of the access file"}
	case open(r.URL.Path):
		return c.Access.Visitor(r), nil
	}
	return c.Access.Identify(r)
}

// underPolicies applies the current policies to a request. They hold for the whole request.
func (c *Config) underPolicies(r *http.Request, q *access.Request) (*access.Request, error) {
	if c.Policies == nil {
		return q, nil
	}
	switch policies, known := c.Policies(); {
	case known:
		q.Apply(policies)
	case open(r.URL.Path) || r.URL.Path == "/metrics" || c.Access == nil && strings.HasPrefix(r.URL.Path, "/internal/"):
		return nil, nil // it sees no PV; /internal is for the other pods, which hide PVs themselves
	default:
		return nil, &access.Refusal{Code: http.StatusServiceUnavailable,
			Text: "the ArchivePolicies, which say who may read, are not known yet: the API server has not listed them; repeat the request in a few seconds"}
	}
	return q, nil
}

// refuse answers a request that has no identity, or that is one of too many requests at a time.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusInternalServerError
	var refusal *access.Refusal
	if errors.As(err, &refusal) {
		code = refusal.Code
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	switch code {
	case http.StatusUnauthorized:
		h.Add("WWW-Authenticate", `Bearer realm="Varve"`)
		if r.Header.Get("X-Requested-With") == "" { // a script, such as the UI, asks for a token itself
			h.Add("WWW-Authenticate", `Basic realm="Varve", charset="UTF-8"`)
		}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", request.RetryAfter)
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		h.Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // an error means that the client has disconnected
		return
	}
	http.Error(w, err.Error(), code)
}

// note writes a line to the audit log.
func (c *Config) note(r *http.Request, q *access.Request, w *countingWriter, begin time.Time, refusal error) {
	if c.Audit == nil || open(r.URL.Path) && refusal == nil {
		return
	}
	e := &audit.Entry{
		Time: begin.UTC(), Client: r.RemoteAddr, Call: r.Pattern, Bytes: w.bytes, Seconds: c.Now().Sub(begin).Seconds(),
		Decision: audit.Allowed, Status: w.code,
	}
	e.From, e.To = rangeIn(r.URL.Query())
	if e.Call == "" { // the mux has not seen it, or knows no such path
		e.Call = cut(r.Method + " " + r.URL.Path)
	}
	if refusal != nil {
		e.Decision, e.Reason = audit.Refused, refusal.Error()
	}
	if q != nil {
		var hidden bool
		e.User, e.Method = cut(q.User), q.Method
		for _, g := range q.Groups[:min(len(q.Groups), maxGroups)] {
			e.Groups = append(e.Groups, cut(g))
		}
		if e.PVs, e.More, hidden = q.Noted(); hidden {
			e.Decision = audit.Hidden
		}
	}
	changes, why := q.Changes()
	if why != "" {
		e.Decision, e.Reason = audit.Refused, cut(why)
	}
	if len(changes) > 0 {
		c.noteChanges(e, changes)
		return
	}
	for i := range e.PVs {
		e.PVs[i] = cut(e.PVs[i])
	}
	c.Audit.Add(e)
}

// notedPVs is the number of PVs in a line about a change.
const notedPVs = 100

// noteChanges writes lines about changes. They name every changed PV.
func (c *Config) noteChanges(of *audit.Entry, changes []access.Change) {
	for i := range changes {
		for pvs := range slices.Chunk(changes[i].PVs, notedPVs) {
			e := *of
			e.Decision, e.Action, e.ArchiveGroup, e.PVs, e.More = audit.Changed, changes[i].Action, changes[i].ArchiveGroup, pvs, false
			c.Audit.Add(&e)
		}
	}
}

// rangeIn returns the parameters of a request that begin and end its range. Each API has its own.
func rangeIn(q url.Values) (from, to string) {
	for _, name := range []string{"from", "start", "at", "time"} {
		if from == "" {
			from = cut(q.Get(name))
		}
	}
	for _, name := range []string{"to", "end"} {
		if to == "" {
			to = cut(q.Get(name))
		}
	}
	return from, to
}

const (
	// maxNote is the number of bytes of a text of a client in the audit log.
	maxNote = 256
	// maxGroups is the number of groups in a line of it.
	maxGroups = 20
)

// cut returns the beginning of a text. It copies it, because a part of a text would keep all of it in memory.
func cut(s string) string { return strings.Clone(strings.ToValidUTF8(s[:min(len(s), maxNote)], "?")) }

// countingWriter counts the bytes of an answer.
type countingWriter struct {
	codeWriter
	bytes int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.codeWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Flush sends what is buffered.
func (w *countingWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // an error means that the next write fails, too
