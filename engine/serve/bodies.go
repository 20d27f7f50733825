package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/request"
)

const (
	// bodyTimeout is how long a client may take to send the body of a request.
	bodyTimeout = 20 * time.Second
	// maxBody bounds the body of one request, and bodyBudget all bodies at a time, of which one client
	// may have bodyShare. A body with 30,000 names has a MiB.
	maxBody    = 1 << 20
	bodyBudget = 32 << 20
	bodyShare  = bodyBudget / 4
	// maxRequests is how many requests are answered at a time, apart from those of exempt paths, and
	// requestShare how many of them one client may have.
	maxRequests  = 1024
	requestShare = maxRequests / 4
)

// tooManyRequests is why a request gets no place.
var tooManyRequests = fmt.Sprintf("the server answers at most %d requests at a time, and %d of one client; repeat the request in a few seconds",
	maxRequests, requestShare)

// limitRequests bounds the number of requests, and their bodies in size and time. Handlers see the
// bounds as errors of reading the body. client names the client of a request.
func limitRequests(next http.Handler, client func(*http.Request) string) http.Handler {
	places, budget := admission.NewBudget(maxRequests, requestShare), admission.NewBudget(bodyBudget, bodyShare)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hasBody := r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
		if hasBody && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions) {
			hangUp(w)
			http.Error(w, "a request with the method "+r.Method+" has no body: put the parameters into the URL", http.StatusBadRequest)
			return
		}
		p := &place{places, client(r)}
		if hasBody {
			b := newBoundedBody(w, r, budget, p)
			defer b.release()
			r.Body = b
		}
		if exempt(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if !places.Take(p.client, 1) {
			if hasBody {
				hangUp(w)
			}
			refuse(w, r, &access.Refusal{Code: http.StatusTooManyRequests, Text: tooManyRequests})
			return
		}
		defer func() { places.Give(p.client, 1) }()
		inner := r.WithContext(withPlace(r.Context(), p))
		defer func() { r.Pattern = inner.Pattern }() // for the metrics
		next.ServeHTTP(w, inner)
	})
}

// hangUp closes the connection after the answer, without waiting for a body that the client holds back.
func hangUp(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	// Writers without deadlines, as in tests, return an error.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
}

// exempt reports whether a path is answered regardless of how many requests there are: Kubernetes
// restarts a pod that does not answer.
func exempt(path string) bool { return path == "/healthz" || path == "/readyz" || path == "/metrics" }

// boundedBody is the body of a request. Its memory counts from when it arrives until the request
// is answered.
type boundedBody struct {
	io.ReadCloser
	header http.Header // of the answer
	conn   *http.ResponseController
	budget *admission.Budget
	place  *place
	client string // who has taken, if taken is not 0
	taken  int64
}

func newBoundedBody(w http.ResponseWriter, r *http.Request, budget *admission.Budget, p *place) *boundedBody {
	b := &boundedBody{
		ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), header: w.Header(), conn: http.NewResponseController(w), budget: budget, place: p,
	}
	// Before an answer that keeps the connection, the server reads the rest of the body, while the
	// request holds what it needs for the answer.
	b.header.Set("Connection", "close")
	// Writers without deadlines, as in tests, return an error.
	_ = b.conn.SetReadDeadline(time.Now().Add(bodyTimeout))
	return b
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.taken == 0 {
		b.client = b.place.client
	}
	n, err := b.ReadCloser.Read(p)
	if !b.budget.Take(b.client, int64(n)) {
		return 0, request.BodyError{Code: http.StatusTooManyRequests, Text: fmt.Sprintf(
			"the bodies of all requests have more than %d MiB, or those of one client more than %d MiB; repeat the request in a few seconds",
			bodyBudget>>20, bodyShare>>20)}
	}
	b.taken += int64(n)
	var large *http.MaxBytesError
	switch {
	case err == io.EOF:
		b.header.Del("Connection")
		// The server reads on to learn that the client disconnects, which may take long.
		_ = b.conn.SetReadDeadline(time.Time{})
	case errors.As(err, &large):
		err = request.BodyError{Code: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("the body may have at most %d MiB", maxBody>>20)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = request.BodyError{Code: http.StatusRequestTimeout, Text: fmt.Sprintf("the body did not arrive within %v", bodyTimeout)}
	}
	return n, err
}

func (b *boundedBody) release() { b.budget.Give(b.client, b.taken) }
