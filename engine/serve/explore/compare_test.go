package explore

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
)

// oddStore is a store whose directory does not answer for STUCK, and fails for BROKEN.
type oddStore struct{ store.Store }

var errBroken = errors.New("the disk is broken")

func (s oddStore) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	switch pv {
	case "STUCK":
		<-ctx.Done()
		return store.Channel{}, false, ctx.Err()
	case "BROKEN":
		return store.Channel{}, false, errBroken
	}
	return s.Store.Channel(ctx, pv)
}

// TestComparisonsEnd checks that a request ends after its time, and says which PVs were not compared.
func TestComparisonsEnd(t *testing.T) {
	a := newArchive(t)
	a.steps(func(m int) float64 { return map[bool]float64{true: 5}[m >= 0] })
	synctest.Test(t, func(t *testing.T) {
		h := New(&query.Reader{Store: oddStore{a.store}, Shards: 1}, nil, nil, time.Now, slog.New(slog.DiscardHandler))
		begun := time.Now()
		q := &changesQuery{from: at, to: at + 3600e9, limit: 10}
		out, err := h.compare(t.Context(), q, []string{"BROKEN", "X", "STUCK"})
		if err != nil || time.Since(begun) != comparisonTime {
			t.Fatalf("the request ends after %v: %v", time.Since(begun), err)
		}
		if out.PVs != 3 || out.Compared != 1 || out.TooLate != 1 || out.Failed != 1 || len(out.Changes) != 1 || !strings.Contains(out.Error, "BROKEN: the disk is broken") {
			t.Errorf("the answer is %+v", out)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := h.compare(ctx, q, []string{"STUCK"}); !errors.Is(err, context.Canceled) {
			t.Errorf("a request whose client has gone ends with %v", err)
		}
		if _, err := h.compare(t.Context(), q, []string{"BROKEN"}); !errors.Is(err, errBroken) {
			t.Errorf("a request of which no PV can be read ends with %v", err)
		}
	})
}

// TestMostChangesAreCounted checks that the limit bounds the list, and not the number of PVs that changed.
func TestMostChangesAreCounted(t *testing.T) {
	p := newPlanted(t, newArchive(t).store, len(planted), false)
	code, out, text := getChanges(t, p.handler(p.to), "limit=2&from="+clock(p.from)+"&to="+clock(p.to))
	if code != http.StatusOK || len(out.Changes) != 2 || out.Changed != len(planted) || out.Changes[0].Score < out.Changes[1].Score {
		t.Errorf("the answer is %d %s", code, text)
	}
}
