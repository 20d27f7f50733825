package files

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDays checks the list of the files of a PV, page by page.
func TestDays(t *testing.T) {
	r := newRig(t, memory)
	const name = "a/b:#1 %"
	for _, d := range []int{-400, -3, -1, 0, 1} { // the last day has not ended
		r.put(name, floats(noon.AddDate(0, 0, d).Add(-time.Hour), 1, 2, 3), nil)
	}
	get := func(query string) (l listing) {
		t.Helper()
		res, body := r.get("/api/v1/files?pv=a/b:%231%20%25" + query)
		if err := json.Unmarshal(body, &l); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", res.StatusCode, body)
		}
		return l
	}
	text := func(l listing) string {
		var days []string
		for _, d := range l.Days {
			days = append(days, fmt.Sprint(d.Day, " ", d.Complete))
		}
		return strings.Join(days, ", ")
	}
	all := get("")
	if got := text(all); got != "2025-01-25 true, 2026-02-26 true, 2026-02-28 true, 2026-03-01 true, 2026-03-02 false" || all.Next != "" || all.CompleteUntil != "" || all.PV != name {
		t.Errorf("the days are %s, %+v", got, all)
	}
	if got := text(get("&from=2026-02-28T11:30:00Z&to=2026-03-01T11:00:00Z")); got != "2026-03-01 true" {
		t.Errorf("the days of a range are %s", got)
	}
	page := get("&limit=2")
	if got := text(page); got != "2025-01-25 true, 2026-02-26 true" || page.Next != "2026-02-28T00:00:00Z" {
		t.Errorf("the first page is %s, then %s", got, page.Next)
	}
	if got := text(get("&from=" + page.Next)); !strings.HasPrefix(got, "2026-02-28 true, 2026-03-01") {
		t.Errorf("the next page is %s", got)
	}
	for _, d := range all.Days {
		f, res := r.open(d.URL)
		if f.NumRows() != 3 || (res.Header.Get("Varve-Complete-Until") == "") != d.Complete {
			t.Errorf("%s has %d rows", d.URL, f.NumRows())
		}
	}
}
