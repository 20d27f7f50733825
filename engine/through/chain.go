package through

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Header is the header with the IDs of the readers that a request came through, separated by commas.
const Header = "Varve-Read-Through"

const (
	// idBytes is the size of an ID.
	idBytes = 8
	// maxChain is the number of readers that a request may come through.
	maxChain = 4
)

type chainKey struct{}

// Guard refuses requests that come from a loop of archives that read through to each other, and keeps the
// chain of the others for the requests that answering them needs.
func (a *Archive) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := strings.ReplaceAll(strings.Join(r.Header.Values(Header), ","), " ", "") // as proxies may join headers
		if len(r.Header.Values(Header)) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		chain := strings.SplitN(text, ",", maxChain+1)
		switch {
		case slices.Contains(chain, a.id):
			http.Error(w, "this archive reads through to an archive that reads through to this archive; correct the address of the older archive of one of them",
				http.StatusLoopDetected)
			return
		case len(chain) > maxChain:
			http.Error(w, fmt.Sprintf("the request came through more than %d archives; do they read through to each other?", maxChain), http.StatusLoopDetected)
			return
		case slices.ContainsFunc(chain, func(id string) bool { return !isID(id) }):
			http.Error(w, "the header "+Header+" must be a list of IDs, each of 16 hexadecimal digits", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), chainKey{}, text)))
	})
}

func isID(id string) bool {
	return len(id) == 2*idBytes && strings.Trim(id, "0123456789abcdef") == ""
}

// chainOf returns the header Varve-Read-Through of the request that a context belongs to, or "" if there is none. Any client
// can send the header. So if a request with the header fails, the failure counts for this request only.
func chainOf(ctx context.Context) string {
	text, _ := ctx.Value(chainKey{}).(string)
	return text
}

// chain returns the header of a request of the reader with an ID.
func chain(ctx context.Context, id string) string {
	if before := chainOf(ctx); before != "" {
		return before + "," + id
	}
	return id
}
