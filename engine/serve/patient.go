package serve

import (
	"net/http"
	"time"
)

// patience is how long a client may take to read a piece of an answer, of which a
// large value is many.
const (
	patience = 30 * time.Second
	piece    = 64 << 10
)

// patient gives each piece a deadline of its own, so that an answer may take as
// long as its client goes on reading.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&patientWriter{ResponseWriter: w, conn: http.NewResponseController(w)}, r)
	})
}

type patientWriter struct {
	http.ResponseWriter
	conn *http.ResponseController
}

func (w *patientWriter) Write(p []byte) (n int, err error) {
	for more := true; more && err == nil; more = n < len(p) {
		// Writers without deadlines, as in tests, do without.
		_ = w.conn.SetWriteDeadline(time.Now().Add(patience))
		var k int
		k, err = w.ResponseWriter.Write(p[n:min(n+piece, len(p))])
		n += k
	}
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
