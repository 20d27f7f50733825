package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const tenSeconds = "&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:09Z"

func TestPostProcessors(t *testing.T) {
	r := newRig(t)
	r.put("SR:PRES", ramp(newYear, 10), 1)
	r.put("mean_5", ramp(newYear, 3), 1)
	r.put("SR(01):X", ramp(newYear, 4), 1)
	r.put("mean_5(SR:PRES)", ramp(newYear, 2), 1)
	text := &sample.Run{Type: sample.String}
	text.Append(&sample.Sample{Time: newYear, Bytes: []byte("on")})
	r.put("SR:TEXT", text, 1)
	arrays := &sample.Run{Type: sample.Float64.Array()}
	arrays.Append(&sample.Sample{Time: newYear, Bytes: make([]byte, 80)})
	r.put("SR:WAVE", arrays, 1)
	r.addChannel("SR:NEW", sample.Unknown, 0)
	const known = "; the known post-processors are caplotbinning, count, deadBand,"
	for _, c := range []struct {
		pv   string
		code int
		want string
	}{
		{"mean_5(SR:PRES)", 200, "1767225602,2.0,0,0,500000000\n1767225607,7.0,0,0,500000000\n"},
		{"mean_5(ca://SR:PRES.VAL)", 200, "1767225602,2.0,0,0,500000000\n1767225607,7.0,0,0,500000000\n"},
		{"mean(SR:PRES,5)", 200, "1767225602,2.0,0,0,500000000\n1767225607,7.0,0,0,500000000\n"},
		{"mean(SR:PRES)", 200, "1767226050,4.5,0,0,0\n"},
		{"SR:PRES&pp=lastSample_5", 200, "1767225604,4.0,0,0,0\n1767225609,9.0,0,0,0\n"},
		{"max_5(SR:PRES)&pp=lastSample_5", 200, "1767225602,4.0,0,0,500000000\n1767225607,9.0,0,0,500000000\n"},
		{"ncount(SR:PRES)", 200, "1767225600,10,0,0,0\n"},
		{"ncount(SR:NEW)", 200, "1767225600,0,0,0,0\n"},
		{"stats_10(SR:PRES)", 200, "1767225605,\"[4.5,3.0276503540974917,0.0,9.0,10.0]\",0,0,0\n"},
		{"errorbar_10(SR:PRES)", 200, "1767225605,4.5,0,0,0\n"},
		{"mean_5(SR:NEW)", 200, ""},
		{"mean_5(SR:NONE)", 404, "reading SR:NONE: unknown PV\n"},
		{"lastSample(SR:TEXT)", 200, "1767225600,on,0,0,0\n"},
		{"count_10(SR:TEXT)", 200, "1767225605,1.0,0,0,0\n"},
		{"mean_5(SR:TEXT)", 400, "reading SR:TEXT: post-processor mean_5 needs numbers; values of type string are not numbers\n"},
		{"mean_10(SR:WAVE)", 200, "1767225605,0.0,0,0,0\n"},
		{"optimized_5(SR:WAVE)", 400, "reading SR:WAVE: post-processor optimized_5 needs scalars; values of type float64[] are arrays\n"},
		{"optimized_500(SR:TEXT)", 400, "needs numbers"},
		{"average_5(SR:PRES)", 400, `unknown post-processor "average"` + known},
		{"mean_0(SR:PRES)", 400, `post-processor mean_0: width in seconds "0" is not a whole number from 1 to 2147483647`},
		{"mean_5m(SR:PRES)", 400, `post-processor mean_5m: width in seconds "5m" is not`},
		{"mean_5(SR:PRES", 400, `the parentheses of "mean_5(SR:PRES" do not match; write a post-processor as mean_600(PV)`},
		{"mean_5SR:PRES)", 400, "do not match"},
		{"mean_5(max_2(SR:PRES))", 400, "post-processor mean_5 is applied to max_2(SR:PRES), which is not a PV; post-processors cannot be nested"},
		{"mean_5()", 400, "post-processor mean_5 has no PV; write mean_5(PV)"},
		{"SR:PRES&pp=average", 400, "parameter pp: unknown post-processor"},
		// Names of PVs with parentheses or underscores.
		{"mean_5", 200, "1767225600,0.0,0,0,0\n1767225601,1.0,0,0,0\n1767225602,2.0,0,0,0\n"},
		{"SR(01):X&pp=ncount", 200, "1767225600,4,0,0,0\n"},
		{"ncount(SR(01):X)", 200, "1767225600,4,0,0,0\n"},
		{"nth_3(SR(01):X)", 200, "1767225600,0.0,0,0,0\n1767225603,3.0,0,0,0\n"},
		{"ca://mean_5(SR:PRES)", 200, "1767225600,0.0,0,0,0\n1767225601,1.0,0,0,0\n"},
		{"ncount(mean_5(SR:PRES))", 200, "1767225600,2,0,0,0\n"},
		{"SR(02):X", 400, `"SR(02):X" is neither a known PV nor a post-processor of one`},
		{"SR(02)", 400, `unknown post-processor "SR"` + known},
	} {
		code, got := r.get("/retrieval/data/getData.csv?pv=" + c.pv + tenSeconds)
		if code != c.code || code == 200 && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s returns %d\n%s", c.pv, code, got)
		}
	}
}

// TestTooManyBinsAreRefused checks that a post-processor that would return too many bins is
// refused before the answer begins.
func TestTooManyBinsAreRefused(t *testing.T) {
	r := newRig(t)
	r.put("SR:PRES", ramp(newYear, 10), 1)
	code, got := r.get("/retrieval/data/getData.csv?pv=mean_1(SR:PRES)&from=1950-01-01T00:00:00Z&to=2026-01-01T00:00:00Z")
	if code != 400 || !strings.Contains(got, "post-processor mean_1 gives") {
		t.Errorf("got %d %s", code, got)
	}
}

// TestPostProcessorsOfSeveralPVs checks that a request for several PVs may have a
// post-processor for each PV, and that the answer names the PVs.
func TestPostProcessorsOfSeveralPVs(t *testing.T) {
	r := newRig(t)
	r.put("A", ramp(newYear, 10), 1)
	r.put("B", ramp(newYear, 4), 1)
	r.check(r.store.PutMetadata(context.Background(), store.PVMetadata{PV: "A", Time: newYear, Metadata: sample.Metadata{Units: "mA", Count: 1}}))
	for _, path := range []string{
		"getData.json?pv=errorbar_10(A)&pv=optimized_2(A)&pv=B&pv=lastFill_10(B)",
		"getDataForPVs.json?pv=errorbar(A,10),optimized_2(A),B,lastFill_10(B)",
	} {
		code, text := r.get("/retrieval/data/" + path + tenSeconds)
		var got []struct {
			Meta map[string]string
			Data []struct {
				Val    any
				Fields map[string]string
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || len(got) != 4 {
			t.Fatalf("%d %v\n%s", code, err, text)
		}
		var all []string
		for _, pv := range got {
			all = append(all, pv.Meta["name"]+pv.Meta["EGU"])
			for _, s := range pv.Data {
				all = append(all, fmt.Sprint(s.Val, s.Fields["stdz"]))
			}
		}
		want := "AmA 4.53.0276503540974917 AmA [1.5 1.2909944487358056 0 3 4] [5.5 1.2909944487358056 4 7 4] [8.5 0.7071067811865476 8 9 2] B 0 1 2 3 B 3"
		if got := strings.Join(all, " "); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	}
}

// TestPostProcessorBounds checks that a request that exceeds the memory of a post-processor is
// answered with 400, because the client can change the request.
func TestPostProcessorBounds(t *testing.T) {
	r := newRig(t)
	for i := range uint32(4) {
		r.put("SR:PRES", ramp(newYear+int64(i)*4096*second, 4096), i+1)
	}
	const day = "&from=2026-01-01T00:00:00Z&to=2026-01-01T12:00:00Z"
	if code, got := r.get("/retrieval/data/getData.json?pv=loess_43200(SR:PRES)" + day); code != 400 || !strings.Contains(got, "one bin has 16384 samples, and loess takes at most 10000") {
		t.Errorf("got %d %s", code, got)
	}
	if code, got := r.get("/retrieval/data/getData.csv?pv=loess_900(SR:PRES)" + day); code != 200 || strings.Count(got, "\n") != 49 {
		t.Errorf("got %d %s", code, got)
	}
}
