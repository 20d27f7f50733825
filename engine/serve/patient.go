package serve

import (
	"net/http"
	"time"
)

// patience is how long a client may take to read what is written at once, 64 KiB
// or a little more.
const patience = 30 * time.Second

// patient gives each write a deadline of its own, so that an answer may take as
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

func (w *patientWriter) Write(p []byte) (int, error) {
	// Writers without deadlines, as in tests, do without.
	_ = w.conn.SetWriteDeadline(time.Now().Add(patience))
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController find the connection.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
