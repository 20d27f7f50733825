package serve

import (
	"net/http"
	"time"
)

const (
	// pieceTimeout is how long a client may take to read one piece of an answer.
	pieceTimeout = 30 * time.Second
	// pieceBytes is the size of a piece. A large value has many pieces.
	pieceBytes = 64 << 10
)

// limitWrites gives each piece of an answer a deadline of its own. An answer may take any
// time, as long as its client keeps reading.
func limitWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&deadlineWriter{ResponseWriter: w, conn: http.NewResponseController(w)}, r)
	})
}

type deadlineWriter struct {
	http.ResponseWriter
	conn *http.ResponseController
}

func (w *deadlineWriter) Write(p []byte) (n int, err error) {
	for more := true; more && err == nil; more = n < len(p) {
		// Writers without deadlines, as in tests, return an error.
		_ = w.conn.SetWriteDeadline(time.Now().Add(pieceTimeout))
		var k int
		k, err = w.ResponseWriter.Write(p[n:min(n+pieceBytes, len(p))])
		n += k
	}
	return n, err
}

// Flush sends what is buffered. The writer that compresses answers finds it only here, and not by
// Unwrap.
func (w *deadlineWriter) Flush() { _ = w.conn.Flush() } // an error means that the next write fails, too

// Unwrap returns the wrapped writer. http.ResponseController needs it for access to the
// connection.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
