package serve

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// putMinutes stores a block for each minute of a list: ten samples, one per second. spoil changes the
// bytes of the blocks in the list damaged.
func (r *rig) putMinutes(pv string, minutes, damaged []int, spoil func(blob []byte) []byte) {
	r.t.Helper()
	r.addChannel(pv, sample.Float64, newYear)
	put := func(minute int, change func([]byte) []byte) {
		run := ramp(newYear+int64(minute)*60*second, 10)
		r.check(r.store.PutBlocks(context.Background(), store.Block{
			BlockKey: store.BlockKey{PV: pv, Bucket: store.Year.Of(run.Times[0]), Start: run.Times[0], Writer: store.WriterID{1}, N: uint32(minute + 1)},
			End:      run.Times[run.Len()-1], Count: run.Len(), Type: run.Type, Blob: change(block.AppendStored(nil, run)),
		}))
	}
	for _, m := range minutes {
		put(m, func(blob []byte) []byte { return blob })
	}
	for _, m := range damaged {
		put(m, spoil)
	}
}

// TestDamagedBlocksAreLeftOutAndMarked checks that reads leave out damaged blocks, and say so. Where
// a damaged block may have held the last sample before the range, no earlier sample takes its
// place: each answer is equal to that of an archive that begins after the damaged block.
func TestDamagedBlocksAreLeftOutAndMarked(t *testing.T) {
	flip := func(blob []byte) []byte { blob[len(blob)/2] ^= 4; return blob }
	clock := func(s int) string { return time.Unix(0, newYear+int64(s)*second).UTC().Format(time.RFC3339) }
	for name, c := range map[string]struct {
		whole, damaged []int // minutes
		equal          []int // minutes of the equal archive
		from, to       int   // seconds
		marked         []int // minutes of the marks in the answer
	}{
		"before the range":      {[]int{0, 2, 3}, []int{1}, []int{2, 3}, 100, 185, []int{1}},
		"at the edge":           {[]int{0, 2, 3}, []int{1}, []int{2, 3}, 65, 185, []int{1}},
		"its last sample":       {[]int{0, 2, 3}, []int{1}, []int{2, 3}, 69, 185, []int{1}},
		"two in a row":          {[]int{0, 3}, []int{1, 2}, []int{3}, 150, 185, []int{2}},
		"the only block":        {nil, []int{0}, nil, 20, 185, []int{0}},
		"in the range":          {[]int{0, 2, 3}, []int{1}, []int{0, 2, 3}, 30, 185, []int{1}},
		"the last sample later": {[]int{0, 2, 3}, []int{1}, []int{0, 2, 3}, 140, 185, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.putMinutes("SR:BAD", c.whole, c.damaged, flip)
			r.putMinutes("SR:EQU", c.equal, nil, nil)
			lost := ""
			if n := len(c.marked); n > 0 {
				lost = strconv.Itoa(10 * n)
			}
			span := "&from=" + clock(c.from) + "&to=" + clock(c.to)
			for _, path := range []string{
				"/api/v1/samples?pv=SR:BAD" + span,
				"/api/v1/samples?points=20&pv=SR:BAD" + span,
				"/retrieval/data/getData.json?pv=SR:BAD" + span,
				"/retrieval/data/getData.raw?pv=SR:BAD" + span,
				"/retrieval/data/getData.json?pv=mean_60(SR:BAD)" + span,
				"/retrieval/data/getData.json?pv=firstFill_10(SR:BAD)" + span,
				"/retrieval/data/getData.json?pv=lastSample_60(SR:BAD)" + span,
				"/retrieval/data/getData.json?pv=optimized_20(SR:BAD)" + span,
				"/retrieval/data/getData.json?pv=ncount(SR:BAD)" + span,
			} {
				res, got, err := r.do(http.MethodGet, path, "")
				r.check(err)
				equal, want, err := r.do(http.MethodGet, strings.Replace(path, "SR:BAD", "SR:EQU", 1), "")
				r.check(err)
				if strings.HasPrefix(path, "/api/") {
					var marks []string
					for _, m := range c.marked {
						marks = append(marks, `{"time":"`+clock(60*m)+`","end":"`+clock(60*m+9)+`","kind":"lost","reason":"damaged","count":10,"text":`)
					}
					got = checkMarks(t, path, got, marks)
				}
				if got = strings.ReplaceAll(got, "SR:BAD", "SR:EQU"); res.StatusCode != equal.StatusCode || res.StatusCode != http.StatusOK || got != want {
					t.Errorf("%s returns %d\n%s\nwithout the damaged blocks %d\n%s", path, res.StatusCode, got, equal.StatusCode, want)
				}
				header := res.Header.Get("Varve-Lost-Samples")
				if strings.Contains(path, "ncount") && header == "" {
					continue // it does not read the last sample before the range
				}
				if header != lost {
					t.Errorf("%s: the header says that %q samples are lost, want %q", path, header, lost)
				}
			}
		})
	}
}

// checkMarks checks the beginnings of the marks in an answer of /api/v1, and returns the answer
// without them.
func checkMarks(t *testing.T, path, answer string, want []string) string {
	t.Helper()
	before, marks, _ := strings.Cut(answer, `"marks":[`)
	marks, after, _ := strings.Cut(marks, "]")
	if n := strings.Count(marks, `"kind"`); n != len(want) {
		t.Errorf("%s returns the marks %s, want %s", path, marks, want)
	}
	for _, m := range want {
		if !strings.Contains(marks, m) {
			t.Errorf("%s returns the marks %s, want %s", path, marks, m)
		}
	}
	return before + `"marks":[]` + after
}

// TestABlockOfALaterVersionIsNotLost checks that a read of samples that a later version of the program
// can read fails: leaving them out would hide them.
func TestABlockOfALaterVersionIsNotLost(t *testing.T) {
	r := newRig(t)
	r.putMinutes("PV", []int{0, 2}, []int{1}, func(blob []byte) []byte { blob[0] = 99; return blob })
	q := url.Values{"pv": {"PV"}, "from": {"2026-01-01T00:01:30Z"}, "to": {"2026-01-01T00:03:00Z"}}.Encode()
	for _, path := range []string{"/api/v1/samples?", "/retrieval/data/getData.json?"} {
		if code, got := r.get(path + q); code != http.StatusInternalServerError {
			t.Errorf("%s returns %d %s", path, code, got)
		}
	}
}

// TestASampleAtATimeMayBeLost checks that getDataAtTime leaves out a PV whose sample at the time is in a
// damaged block, says so, and answers the other PVs.
func TestASampleAtATimeMayBeLost(t *testing.T) {
	r := newRig(t)
	r.putMinutes("SR:BAD", []int{0, 2}, []int{1}, func(blob []byte) []byte { return blob[:len(blob)-1] })
	r.putMinutes("SR:EQU", []int{0}, nil, nil)
	for at, want := range map[string]struct {
		has  bool
		lost string
	}{
		"2026-01-01T00:00:30Z": {true, ""},
		"2026-01-01T00:01:05Z": {false, "10"},
		"2026-01-01T00:01:30Z": {false, "10"},
		"2026-01-01T00:02:30Z": {true, ""},
	} {
		res, got, err := r.do(http.MethodGet, "/retrieval/data/getDataAtTime?pv=SR:BAD,SR:EQU&at="+at, "")
		r.check(err)
		if lost := res.Header.Get("Varve-Lost-Samples"); res.StatusCode != http.StatusOK || strings.Contains(got, "SR:BAD") != want.has ||
			!strings.Contains(got, "SR:EQU") || lost != want.lost {
			t.Errorf("at %s: %d, %q samples are lost, %s", at, res.StatusCode, lost, got)
		}
	}
}
