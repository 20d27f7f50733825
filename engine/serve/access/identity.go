package access

import (
	"context"
	"slices"
	"sync"

	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/pvname"
)

// Identity is who sends a request.
type Identity struct {
	User   string
	Groups []string
	// Method is the name of the authenticator, such as tokens.
	Method string
}

// client returns the name of a client that has proved who it is. It returns "" for others, which are
// known only by their addresses.
func (id *Identity) client() string {
	switch id.Method {
	case "tokens", "jwt", "kubernetes", "trustedProxy":
		return id.Method + " " + id.User
	}
	return ""
}

// maxNoted is the number of PVs that a request notes for the audit log.
const maxNoted = 20

// Request is what is known about one request: its identity, and the PVs that it has asked for. All
// methods may be called concurrently. A nil Request sees no PV.
type Request struct {
	Identity
	view     view
	policies *policy.View // nil: no policies apply

	mu      sync.Mutex
	pvs     []string
	more    bool
	hidden  bool
	changes []Change
	refusal string
}

// Change is what a request has changed.
type Change struct {
	// Action is what was done to the PVs, such as "archive".
	Action string
	// ArchiveGroup is the changed group (namespace/name).
	ArchiveGroup string
	PVs          []string
}

type contextKey struct{}

// With returns a context with a request.
func With(ctx context.Context, q *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, q)
}

// From returns the request of a context, or nil if it has none.
func From(ctx context.Context) *Request {
	q, _ := ctx.Value(contextKey{}).(*Request)
	return q
}

// Client returns the name of the client whose share the request uses. It returns "" if only the address of the
// client is known. The name is never an address.
func (q *Request) Client() string {
	if q == nil {
		return ""
	}
	return q.client()
}

// Everybody returns the request of a client whom nobody identifies, in an archive whose rules let everybody read
// every PV.
func Everybody() *Request {
	return &Request{Identity: Identity{User: "anonymous", Method: "anonymous"}, view: view{all: true}}
}

// Apply makes policies hide PVs from the request. It must be called before the request reads. A nil Request stays
// one that sees no PV.
func (q *Request) Apply(policies *policy.Set) {
	if q != nil {
		q.policies = policies.For(q.User, q.Groups)
	}
}

// Sees reports whether the identity may read a PV, given its canonical name. It is for lists of PVs
// that the request did not name. Rules and policies must both admit the identity.
func (q *Request) Sees(pv string) bool {
	if q == nil || !q.view.sees(pv) {
		return false
	}
	// Policies, too, match only canonical names, so that no later code can turn a name into another one.
	return q.policies == nil || q.policies.All() || pvname.Canonical(pv) == pv && q.policies.Sees(pv)
}

// SeesAll reports whether the identity may read every PV.
func (q *Request) SeesAll() bool {
	return q != nil && q.view.all && (q.policies == nil || q.policies.All())
}

// Reads is Sees for a PV that the request reads. It notes the PV for the audit log.
func (q *Request) Reads(pv string) bool {
	if q == nil {
		return false
	}
	sees := q.Sees(pv)
	q.note(pv, sees)
	return sees
}

func (q *Request) note(pv string, sees bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Contains(q.pvs, pv) {
		return
	}
	if !sees {
		q.hidden = true
	}
	if len(q.pvs) == maxNoted {
		q.more = true
		return
	}
	q.pvs = append(q.pvs, pv)
}

// NoteChange notes a change for the audit log.
func (q *Request) NoteChange(c Change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changes = append(q.changes, c)
}

// NoteRefusal notes for the audit log why the sender may not change what the request asks to change.
func (q *Request) NoteRefusal(why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refusal = why
}

// Changes returns what the request has changed, and why it was refused, or "".
func (q *Request) Changes() (changes []Change, refusal string) {
	if q == nil {
		return nil, ""
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changes, q.refusal
}

// Noted returns the first PVs that the request has asked for, whether there were more, and whether
// the identity may not read one of them.
func (q *Request) Noted() (pvs []string, more, hidden bool) {
	if q == nil {
		return nil, false, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.pvs), q.more, q.hidden
}
