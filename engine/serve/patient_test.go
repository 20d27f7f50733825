package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlines notes the deadlines of writes.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// Each write has a deadline of its own: a client may be slow, but not stand still.
func TestWritesHaveDeadlines(t *testing.T) {
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	start := time.Now()
	patient(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			if _, err := w.Write([]byte("x")); err != nil {
				t.Error(err)
			}
		}
	})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if len(w.set) != 3 || w.set[0].Before(start.Add(patience)) || w.set[2].Before(w.set[0]) {
		t.Errorf("deadlines are %v", w.set)
	}
}
