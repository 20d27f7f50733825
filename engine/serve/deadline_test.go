package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlines records the deadlines of writes.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// TestEachPieceHasADeadline checks that each piece has a deadline of its own. A client may be
// slow, but must not stop reading.
func TestEachPieceHasADeadline(t *testing.T) {
	w := &deadlines{ResponseWriter: httptest.NewRecorder()}
	start := time.Now()
	limitWrites(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, size := range []int{1, 1, 3*pieceBytes + 1, 0} {
			if n, err := w.Write(make([]byte, size)); err != nil || n != size {
				t.Errorf("wrote %d of %d bytes: %v", n, size, err)
			}
		}
	})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if len(w.set) != 7 || w.set[0].Before(start.Add(pieceTimeout)) || w.set[2].Before(w.set[0]) {
		t.Errorf("deadlines are %v", w.set)
	}
	if n := w.ResponseWriter.(*httptest.ResponseRecorder).Body.Len(); n != 3*pieceBytes+3 {
		t.Errorf("%d bytes were written", n)
	}
}
