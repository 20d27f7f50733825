package serve

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// columns is an answer of /api/v1/bins in JSON.
type columns struct {
	Width float64
	PVs   []struct {
		PV, Mode, Kind string
		Time           []string
		Width          []float64
		Value          []float64
		Min, Max, Mean []float64
		Count, Covered []float64
		Severity, Text []string
		Metadata       *struct{ Units string }
		CompleteUntil  string
	} `json:"pvs"`
}

func (r *rig) columns(path string) (c columns) {
	r.t.Helper()
	code, text := r.get(path)
	if err := json.Unmarshal([]byte(text), &c); err != nil || code != 200 {
		r.t.Fatalf("%s returns %d %s: %v", path, code, text, err)
	}
	return c
}

const minute = "&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z"

// TestBinsAreOnACommonGrid checks that PVs with different samples have the same bins, and that a
// range beside it continues the grid.
func TestBinsAreOnACommonGrid(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 31), 1)
	r.put("Y", ramp(newYear+7*second, 5), 2)
	got := r.columns("/api/v1/bins?pv=X&pv=Y" + minute + "&points=15")
	if got.Width != 5 || len(got.PVs) != 2 {
		t.Fatalf("the width is %g with %d PVs, want 5 with 2", got.Width, len(got.PVs))
	}
	x, y := got.PVs[0], got.PVs[1]
	if x.Mode != "bins" || x.Min[1] != 5 || x.Max[1] != 9 || x.Mean[1] != 7 || x.Count[1] != 5 || x.Covered[1] != 1 {
		t.Errorf("the second bin is min %g, max %g, mean %g, count %g, covered %g", x.Min[1], x.Max[1], x.Mean[1], x.Count[1], x.Covered[1])
	}
	if y.Time[0] != x.Time[1] || y.Count[0] != 3 || y.Covered[0] != 0.6 {
		t.Errorf("the first bin of Y is %s with %g samples, covered %g", y.Time[0], y.Count[0], y.Covered[0])
	}
	beside := r.columns("/api/v1/bins?pv=X&from=2026-01-01T00:00:07Z&to=2026-01-01T00:01:07Z&points=15").PVs[0]
	if beside.Time[0] != x.Time[1] || beside.Count[0] != 5 {
		t.Errorf("a range beside begins with a bin at %s with %g samples", beside.Time[0], beside.Count[0])
	}
}

// TestFewSamplesAreAnsweredAsTheyAre checks the parameter samples, at and beyond its bound.
func TestFewSamplesAreAnsweredAsTheyAre(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear-second, 31), 1) // one before the range, 30 in it
	got := r.columns("/api/v1/bins?pv=X" + "&from=2025-12-31T23:59:59.5Z&to=2026-01-01T00:01:00Z&samples=30").PVs[0]
	if got.Mode != "samples" || len(got.Value) != 31 || got.Value[30] != 30 || got.Time[0] != "2025-12-31T23:59:59Z" {
		t.Errorf("the answer has %d %s from %v", len(got.Value), got.Mode, got.Time)
	}
	if got = r.columns("/api/v1/bins?pv=X" + "&from=2025-12-31T23:59:59.5Z&to=2026-01-01T00:01:00Z&samples=28").PVs[0]; got.Mode != "bins" {
		t.Errorf("30 samples are answered as they are, although the bound is 28")
	}
}

// TestBinaryBinsEqualJSON decodes frames as a browser does.
func TestBinaryBinsEqualJSON(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear+1, 31), 1)
	for _, more := range []string{"&points=15", "&samples=1000"} {
		want := r.columns("/api/v1/bins?pv=X" + minute + more).PVs[0]
		_, text := r.get("/api/v1/bins?pv=X" + minute + more + "&format=binary")
		head, body := frameOf(t, text)
		if head.Mode != want.Mode || head.Rows != len(want.Time) || head.Bytes != len(body) {
			t.Fatalf("the frame has %d %s in %d of %d bytes", head.Rows, head.Mode, head.Bytes, len(body))
		}
		values, name := want.Value, "value"
		if want.Mode == "bins" {
			values, name = want.Mean, "mean"
		}
		for i, w := range values {
			if v := math.Float64frombits(binary.LittleEndian.Uint64(body[head.at(name)+8*i:])); v != w {
				t.Errorf("%s %d is %g, in JSON %g", name, i, v, w)
			}
			offset := int64(binary.LittleEndian.Uint32(body[head.at("offset")+4*i*head.wide():])) * head.Unit
			if at := head.base(t) + offset; head.wide() == 1 && clockOf(at) != want.Time[i] {
				t.Errorf("bin %d is at %s, in JSON at %s", i, clockOf(at), want.Time[i])
			}
		}
	}
}

// TestBinsRefuseBadParameters checks the bounds.
func TestBinsRefuseBadParameters(t *testing.T) {
	r := newRig(t)
	r.put("SR:X", ramp(newYear, 3), 1)
	many := ""
	for i := range 33 {
		many += fmt.Sprintf("&pv=P%d", i)
	}
	for query, want := range map[string]string{
		"bins?x":                          "parameter \"x\" is unknown",
		"bins?from=now":                   "parameter pv",
		"bins?pv=":                        "parameter pv: it is required, for example pv=SR:I",
		"bins?pv=SR:X&pv=":                "parameter pv: a name is empty",
		"bins?" + many[1:]:                "may have 32",
		"bins?pv=SR:X&points=4001":        "parameter points",
		"bins?pv=SR:X&points=x":           "parameter points",
		"bins?pv=SR:X&samples=10001":      "parameter samples",
		"bins?pv=SR:X&format=csv":         "parameter format",
		"bins?pv=SR:X&from=now&to=-1h":    "parameter from",
		"gaps?pv=SR:X&limit=0":            "parameter limit",
		"live?pv=SR:X&cursor=1:1,1:1":     "one for each of 1 PVs",
		"live?pv=SR:X&cursor=yesterday:1": "is not TIME:COUNT",
	} {
		if code, text := r.get("/api/v1/" + query); code != 400 || !strings.Contains(unquote(text), want) {
			t.Errorf("%.40s returns %d %s, want %q", query, code, text, want)
		}
	}
	for _, path := range []string{"bins", "gaps", "live"} {
		if code, text := r.get("/api/v1/" + path + "?pv=SR:Y"); code != 404 || !strings.Contains(text, "similar names are SR:X") {
			t.Errorf("%s of an unknown PV returns %d %s", path, code, text)
		}
	}
}

// TestGapsHaveTheirCauses checks gaps that are closed, open at an end, or none because another
// engine captured the PV.
func TestGapsHaveTheirCauses(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 31), 1)
	first, next := store.WriterID{1}, store.WriterID{2}
	for _, m := range []struct {
		at     int64 // seconds after the new year
		kind   sample.MarkKind
		writer store.WriterID
		text   string
	}{
		{-9, sample.Connected, first, "ioc1"}, {2, sample.Disconnected, first, "ioc1: reset"}, {3, sample.Searching, first, "10.0.0.255"},
		{6, sample.Connected, first, "ioc2"}, {10, sample.Connected, next, "ioc2"}, {11, sample.Disconnected, first, "moved"},
		{20, sample.Died, next, ""},
	} {
		r.check(r.store.PutMarks(context.Background(), store.PVMark{PV: "X", Writer: m.writer, Mark: sample.Mark{Time: newYear + m.at*second, Kind: m.kind, Text: m.text}}))
	}
	r.check(r.store.PutMarks(context.Background(), store.PVMark{PV: "X", Writer: first, Mark: sample.Mark{
		Time: newYear + 8*second, End: newYear + 9*second, Kind: sample.Lost, Reason: sample.Overflow, Count: 7}}))
	var got struct {
		PVs []struct {
			Gaps []struct {
				From, To, Kind, Writer, Text string
				Causes                       []struct{ Kind, Text, Writer string }
			}
			Losses []struct {
				From, Reason string
				Count        int
			}
		} `json:"pvs"`
	}
	_, text := r.get("/api/v1/gaps?pv=X&from=2026-01-01T00:00:03Z&to=2026-01-01T00:00:30Z")
	r.check(json.Unmarshal([]byte(text), &got))
	x := got.PVs[0]
	if len(x.Gaps) != 2 || len(x.Losses) != 1 {
		t.Fatalf("the gaps are %s", text)
	}
	if g := x.Gaps[0]; g.From != clockOf(newYear+2*second) || g.To != clockOf(newYear+6*second) || g.Kind != "disconnected" ||
		g.Causes[0].Text != "ioc1: reset" || g.Causes[1].Kind != "searching" || g.Text != "ioc2" || g.Causes[0].Writer != first.String() {
		t.Errorf("the first gap is %+v", g)
	}
	if g := x.Gaps[1]; g.From != clockOf(newYear+20*second) || g.To != "" || g.Kind != "died" || g.Causes[0].Writer != next.String() {
		t.Errorf("the last gap is %+v", g)
	}
	if l := x.Losses[0]; l.Count != 7 || l.Reason != "overflow" || l.From != clockOf(newYear+8*second) {
		t.Errorf("the loss is %+v", l)
	}
	if _, text := r.get("/api/v1/gaps?pv=X&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:30Z&limit=1"); !strings.Contains(text, `"leftOutFrom":"2026-01-01T00:00:08Z"`) {
		t.Errorf("with a limit of 1, the gaps are %s", text)
	}
}

// TestTimeBeforeCaptureIsAGap checks the time before the first mark.
func TestTimeBeforeCaptureIsAGap(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear+10*second, 5), 1)
	if _, text := r.get("/api/v1/gaps?pv=X" + minute); strings.Contains(text, "not_captured") {
		t.Errorf("a PV without marks has the gaps %s", text)
	}
	r.check(r.store.PutMarks(context.Background(), store.PVMark{PV: "X", Writer: store.WriterID{1}, Mark: sample.Mark{Time: newYear + 9*second, Kind: sample.Connected}}))
	if _, text := r.get("/api/v1/gaps?pv=X" + minute); !strings.Contains(text, `"gaps":[{"to":"2026-01-01T00:00:09Z","kind":"not_captured"`) {
		t.Errorf("the gaps are %s", text)
	}
}

// TestLiveUpdatesFollowTheArchive checks that a stream continues where the client's samples end, that
// events arrive while it lasts, and that another stream continues where it ended.
func TestLiveUpdatesFollowTheArchive(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 5), 1)
	path := fmt.Sprintf("/api/v1/live?pv=X&cursor=%d:1", newYear+second)
	next := r.follow(path, "")
	_, first := next()
	if want := `"offset":[0,1000000000,2000000000],"value":[2.0,3.0,4.0]`; !strings.Contains(first, want) {
		t.Errorf("the first event is %s, want %s", first, want)
	}
	r.put("X", ramp(newYear+5*second, 2), 2)
	id, data := next()
	if !strings.Contains(data, `"value":[0.0,1.0]`) {
		t.Errorf("the second event is %s", data)
	}
	r.put("X", ramp(newYear+7*second, 1), 3)
	if _, data = r.follow(path, id)(); !strings.Contains(data, `"value":[0.0]`) {
		t.Errorf("the first event after a new connection is %s", data)
	}
}

// follow opens a stream. next returns its next event that has samples.
func (r *rig) follow(path, last string) (next func() (id, data string)) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	r.check(err)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	r.check(err)
	r.t.Cleanup(func() {
		cancel()
		_ = res.Body.Close()
	})
	lines, name := bufio.NewScanner(res.Body), ""
	return func() (id, data string) {
		for lines.Scan() {
			switch field, text, _ := strings.Cut(lines.Text(), ": "); {
			case field == "event":
				name = text
			case field == "id":
				id = text
			case field == "data" && name == "samples":
				return id, text
			}
		}
		r.t.Fatal("the stream ends without samples")
		return "", ""
	}
}
