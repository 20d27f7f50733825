package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/request"
)

const (
	// bodyTimeout is how long a client may take to send the body of a request.
	bodyTimeout = 20 * time.Second
	// maxBody bounds the body of one request, and bodyBudget all bodies at a time. A body with
	// 30,000 names has a MiB.
	maxBody    = 1 << 20
	bodyBudget = 32 << 20
	// maxRequests is how many requests are answered at a time, apart from those of exempt paths.
	maxRequests = 1024
)

// limitRequests bounds the number of requests, and their bodies in size and time. Handlers see the
// bounds as errors of reading the body.
func limitRequests(next http.Handler) http.Handler {
	places, budget := admission.NewBudget(maxRequests), admission.NewBudget(bodyBudget)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if exempt(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if !places.Take(1) {
			w.Header().Set("Retry-After", request.RetryAfter)
			http.Error(w, fmt.Sprintf("the server answers at most %d requests at a time; repeat the request in a few seconds", maxRequests),
				http.StatusServiceUnavailable)
			return
		}
		defer places.Give(1)
		if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
			outer := r
			r = r.WithContext(admission.WithClient(r.Context(), host))
			defer func() { outer.Pattern = r.Pattern }() // for the metrics
		}
		if r.Body != nil && r.Body != http.NoBody {
			b := newBoundedBody(w, r, budget)
			defer b.release()
			r.Body = b
		}
		next.ServeHTTP(w, r)
	})
}

// exempt reports whether a path is answered regardless of how many requests there are: Kubernetes
// restarts a pod that does not answer.
func exempt(path string) bool { return path == "/healthz" || path == "/readyz" || path == "/metrics" }

// boundedBody is the body of a request. Its memory counts from when it arrives until the request
// is answered.
type boundedBody struct {
	io.ReadCloser
	conn   *http.ResponseController
	budget *admission.Budget
	taken  int64
}

func newBoundedBody(w http.ResponseWriter, r *http.Request, budget *admission.Budget) *boundedBody {
	b := &boundedBody{http.MaxBytesReader(w, r.Body, maxBody), http.NewResponseController(w), budget, 0}
	// Writers without deadlines, as in tests, return an error.
	_ = b.conn.SetReadDeadline(time.Now().Add(bodyTimeout))
	return b
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.budget.Take(int64(n)) {
		return 0, request.BodyError{Code: http.StatusServiceUnavailable, Text: fmt.Sprintf(
			"the bodies of all requests have more than %d MiB; repeat the request in a few seconds", b.budget.Limit()>>20)}
	}
	b.taken += int64(n)
	var large *http.MaxBytesError
	switch {
	case err == io.EOF:
		// The server reads on to learn that the client disconnects, which may take long.
		_ = b.conn.SetReadDeadline(time.Time{})
	case errors.As(err, &large):
		err = request.BodyError{Code: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("the body may have at most %d MiB", maxBody>>20)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = request.BodyError{Code: http.StatusRequestTimeout, Text: fmt.Sprintf("the body did not arrive within %v", bodyTimeout)}
	}
	return n, err
}

func (b *boundedBody) release() { b.budget.Give(b.taken) }
