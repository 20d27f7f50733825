package pbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

var escapes = strings.NewReplacer("\x1b", "\x1b\x01", "\n", "\x1b\x02", "\r", "\x1b\x03")

// line returns a message as a line of a file.
func line(msg string) string { return escapes.Replace(msg) + "\n" }

func text(key byte, s string) string {
	return string(key) + string(binary.AppendUvarint(nil, uint64(len(s)))) + s
}

func number(key byte, v uint64) string { return string(binary.AppendUvarint([]byte{key}, v)) }

// header returns the header of a file of a PV named A:B.
func header(payload, year int, fields ...string) string {
	msg := number(0x08, uint64(payload)) + text(0x12, "A:B") + number(0x18, uint64(year)) + number(0x20, 1)
	return line(msg + strings.Join(fields, ""))
}

// at returns the time of a sample in a message, and its value.
func at(seconds, nanos uint64, val string) string {
	return number(0x08, seconds) + number(0x10, nanos) + val
}

func double(v float64) string {
	return string(binary.LittleEndian.AppendUint64([]byte{0x19}, math.Float64bits(v)))
}

// read reads a file, and returns its samples and problems as text.
func read(t *testing.T, file string, within Partition) (h Header, run sample.Run, problems []string) {
	t.Helper()
	r := NewReader(strings.NewReader(file))
	r.Within = within
	r.Problem = func(p Problem) { problems = append(problems, fmt.Sprintf("%d: %v", p.Offset, p.Err)) }
	h, err := r.Header()
	if err != nil {
		t.Fatal(err)
	}
	run.Type = h.Type
	for err == nil {
		err = r.Read(&run, 2)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return h, run, problems
}

func TestReadsEveryType(t *testing.T) {
	for _, tc := range []struct {
		payload int
		val     string
		want    sample.Sample
	}{
		{0, text(0x1a, "a\nb\x1bc\r"), sample.Sample{Bytes: []byte("a\nb\x1bc\r")}},
		{1, number(0x18, 3), sample.Sample{Word: math.MaxUint64 - 1}}, // -2
		{2, "\x1d\x00\x00\x80\x3f", sample.Sample{Word: uint64(math.Float32bits(1))}},
		{3, number(0x18, 14), sample.Sample{Word: 7}},
		{4, text(0x1a, "\xfe"), sample.Sample{Word: 0xfe}},
		{5, "\x1d\xff\xff\xff\xff", sample.Sample{Word: math.MaxUint64}},
		{6, double(2.5), sample.Sample{Word: math.Float64bits(2.5)}},
		{7, text(0x1a, "") + text(0x1a, "xy"), sample.Sample{Bytes: []byte("\x00\x02xy")}},
		{8, text(0x1a, "\x01\x04"), sample.Sample{Bytes: []byte{0xff, 0xff, 2, 0}}},
		{8, number(0x18, 1) + number(0x18, 4), sample.Sample{Bytes: []byte{0xff, 0xff, 2, 0}}},
		{9, text(0x1a, "\x00\x00\x80\x3f"), sample.Sample{Bytes: []byte{0, 0, 0x80, 0x3f}}},
		{10, text(0x1a, "\x02"), sample.Sample{Bytes: []byte{1, 0}}},
		{11, text(0x1a, "\n\r"), sample.Sample{Bytes: []byte("\n\r")}},
		{12, text(0x1a, "\x01\x00\x00\x00"), sample.Sample{Bytes: []byte{1, 0, 0, 0}}},
		{13, text(0x1a, double(1)[1:]), sample.Sample{Bytes: []byte(double(1)[1:])}},
		{13, "", sample.Sample{}}, // an empty array
	} {
		file := header(tc.payload, 2024) + line(at(31_622_399, 5, tc.val)+"\x20\x02\x28\x03")
		_, run, problems := read(t, file, Partition{})
		if len(problems) > 0 || run.Len() != 1 {
			t.Errorf("payload %d: %d samples, %v", tc.payload, run.Len(), problems)
			continue
		}
		tc.want.Time = time.Date(2024, 12, 31, 23, 59, 59, 5, time.UTC).UnixNano()
		tc.want.Tag = sample.MakeTag(sample.Major, 3)
		if got := run.At(0); !got.Same(&tc.want) {
			t.Errorf("payload %d: %+v, want %+v", tc.payload, got, tc.want)
		}
	}
}

func TestNamesWhatCannotBeRead(t *testing.T) {
	good := line(at(1, 0, double(1)))
	for reason, bad := range map[string]string{
		"the message is cut":          line(at(1, 0, double(1))[:9]),
		"has wire type 2":             line(at(1, 0, text(0x1a, "12345678"))),
		"the sample has no time":      line("\x08\x01" + double(1)),
		"the sample has no value":     line(at(1, 0, "")),
		"does not exist":              line(at(366*86400, 0, double(1))),
		"and 1000000000 ns":           line(at(1, 1e9, double(1))),
		"outside of the partition":    line(at(31*86400, 0, double(1))),
		"is no alarm of EPICS":        line(at(1, 0, double(1)) + "\x20\x09"),
		"the escape 9 is unknown":     "\x1b\x09\n",
		"in the middle of an escape":  "\x08\x1b\n",
		"a number of the message":     line("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
		"protobuf no longer uses":     line("\x0b"),
		"the last line has no end: t": strings.TrimSuffix(good, "\n"),
	} {
		head := header(6, 2026)
		file := head + good + bad
		if strings.HasSuffix(bad, "\n") {
			file += line(at(2, 0, double(2)))
		}
		name, err := ParseName("A/B:2026_01.pb")
		if err != nil {
			t.Fatal(err)
		}
		_, run, problems := read(t, file, name.Partition)
		if want := strings.Count(file, "\n") - 1 - strings.Count(bad, "\n"); run.Len() != want {
			t.Errorf("%s: %d samples, want %d", reason, run.Len(), want)
		}
		place := fmt.Sprintf("%d: ", len(head)+len(good))
		if len(problems) != 1 || !strings.HasPrefix(problems[0], place) || !strings.Contains(problems[0], reason) {
			t.Errorf("problems %q, want one at %s%s", problems, place, reason)
		}
	}
}

func TestValuesThatDoNotFitAreProblems(t *testing.T) {
	for payload, val := range map[int]string{1: number(0x18, 1<<17), 3: number(0x18, 1), 12: text(0x1a, "123"), 10: text(0x1a, "\xff"), 4: text(0x1a, "ab")} {
		_, run, problems := read(t, header(payload, 2026)+line(at(1, 0, val)), Partition{})
		if run.Len() != 0 || len(problems) != 1 {
			t.Errorf("payload %d: %d samples, problems %v", payload, run.Len(), problems)
		}
	}
}

func TestLongLinesAreReadUpToTheBound(t *testing.T) {
	wave := strings.Repeat("\x1b\n", 4<<20)
	file := header(11, 2026) + line(at(1, 0, text(0x1a, wave))) + strings.Repeat("x", MaxLine+1) + "\n" + line(at(2, 0, text(0x1a, "b")))
	_, run, problems := read(t, file, Partition{})
	if run.Len() != 2 || string(run.Value(0)) != wave || string(run.Value(1)) != "b" {
		t.Errorf("%d samples", run.Len())
	}
	if len(problems) != 1 || !strings.Contains(problems[0], "more than 40 MiB") {
		t.Errorf("problems %v", problems)
	}
}

func TestHeaders(t *testing.T) {
	h, _, _ := read(t, header(5, 2026, text(0x7a, text(0x0a, "EGU")+text(0x12, "mA"))), Partition{})
	if h.PV != "A:B" || h.Year != 2026 || h.Type != sample.Int32 || h.Elements != 1 || !slices.Equal(h.Fields, []Field{{"EGU", "mA"}}) {
		t.Errorf("%+v", h)
	}
	if h, _, _ := read(t, header(PayloadV4, 2026), Partition{}); h.Type != sample.Unknown {
		t.Errorf("a file of structures has type %v", h.Type)
	}
	for want, file := range map[string]string{
		"no whole line": "\x08\x06", "has no type": line(text(0x12, "A")), "the year 3000": header(6, 3000),
		"no valid name": line(number(0x08, 6) + number(0x18, 2026) + text(0x12, "a b")),
	} {
		if _, err := NewReader(strings.NewReader(file)).Header(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the header is read with %v, want %s", err, want)
		}
	}
}

func TestChangesHaveTheFieldsOfSamples(t *testing.T) {
	file := header(6, 2026) + line(at(1, 0, double(1))) + line(at(9, 0, double(1))+text(0x3a, text(0x0a, "cnxlostepsecs")+text(0x12, "5")))
	r := NewReader(strings.NewReader(file))
	var got []Change
	r.Change = func(c Change) { c.Fields = slices.Clone(c.Fields); got = append(got, c) }
	if _, err := r.Header(); err != nil {
		t.Fatal(err)
	}
	_ = r.Read(&sample.Run{Type: sample.Float64}, 10)
	if len(got) != 1 || got[0].Time-got[0].Previous != 8e9 || !slices.Equal(got[0].Fields, []Field{{"cnxlostepsecs", "5"}}) {
		t.Errorf("%+v", got)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]struct{ key, from, to string }{
		"lts/SR01/PRES/A:2026.pb":         {"lts/SR01/PRES/A", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		"SR01/PRES:2024_02.pb":            {"SR01/PRES", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		"SR01/PRES:2026_12_31.pb":         {"SR01/PRES", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"},
		"SR01/PRES:2026_12_31_23.pbr":     {"SR01/PRES", "2026-12-31T23:00:00Z", "2027-01-01T00:00:00Z"},
		"SR01/PRES.VAL:2026_01_01_23_5.x": {},
		"SR01/PRES:2026_01_01_23_55.pb":   {"SR01/PRES", "2026-01-01T23:55:00Z", "2026-01-02T00:25:00Z"},
	} {
		got, err := ParseName(name)
		if want.key == "" {
			if !errors.Is(err, ErrNotData) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		stamp := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
		if err != nil || got.Key != want.key || stamp(got.Partition.Start) != want.from || stamp(got.Partition.End) != want.to {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"x.pb", ":2026.pb", "A:2026_13.pb", "A:2026_1.pb", "A:20260101.pb", "A:2026_01_01_01_01_01.pb", "A:1800.pb"} {
		if got, err := ParseName(name); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := ParseName("A:_pb.zip"); !errors.Is(err, ErrZip) {
		t.Errorf("a ZIP file: %v", err)
	}
	n := FileName{Key: "lts/SR01/PRES/A"}
	if !n.Matches("SR01:PRES-A") || n.Matches("R01:PRES-A") || !n.Matches("PRES:A") {
		t.Error("names of PVs are compared wrongly")
	}
}

// TestContinuesAfterEmptyLines reads a file with an empty line between samples, an answer with a second
// header, and lines whose header cannot be read.
func TestContinuesAfterEmptyLines(t *testing.T) {
	one, two := line(at(1, 0, double(1))), line(at(2, 0, double(2)))
	for name, tc := range map[string]struct {
		rest     string
		seconds  []int64 // of the year 2026
		problems int
	}{
		"damage":            {one + "\n\n" + two, []int64{1, 2}, 1},
		"another header":    {one + "\n" + header(6, 2026) + two, []int64{1, 2}, 0},
		"end":               {one + "\n", []int64{1}, 0},
		"damaged header":    {one + "\n" + "\x08\x06\x12\x09cut\n" + two + "\n" + header(6, 2026) + two, []int64{1, 2}, 2},
		"header of nothing": {one + "\n" + header(6, 2026), []int64{1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			problems := 0
			r := NewReader(strings.NewReader(header(6, 2026) + tc.rest))
			r.Problem = func(Problem) { problems++ }
			h, err := r.Header()
			run := sample.Run{Type: h.Type}
			for err == nil {
				if err = r.Read(&run, 1); errors.Is(err, ErrNextChunk) {
					if _, err = r.Next(); errors.Is(err, ErrNoHeader) {
						if err = r.Skip(ErrNoHeader); errors.Is(err, ErrNextChunk) {
							_, err = r.Next()
						}
					}
				}
			}
			var seconds []int64
			for _, ns := range run.Times {
				seconds = append(seconds, ns/1e9-h.start()/1e9)
			}
			if !errors.Is(err, io.EOF) || !slices.Equal(seconds, tc.seconds) || problems != tc.problems {
				t.Errorf("read the seconds %v with %d problems, %v; want %v with %d", seconds, problems, err, tc.seconds, tc.problems)
			}
		})
	}
}

// TestADamagedHeaderHidesItsSamples damages a header in the middle. No line behind it may be read with the type
// and the year of the header before it, not even behind another empty line, and each is a problem.
func TestADamagedHeaderHidesItsSamples(t *testing.T) {
	one, two := line(at(1, 0, double(1))), line(at(2, 0, double(2)))
	for name, skip := range map[string]bool{"skipping": true, "without skipping": false} {
		t.Run(name, func(t *testing.T) {
			file := header(6, 2026) + one + "\n" + "\x08\x06\x12\x09cut\n" + two + "\n" + two + two + "\n" + header(6, 2026) + two
			problems := 0
			r := NewReader(strings.NewReader(file))
			r.Problem = func(Problem) { problems++ }
			_, err := r.Header()
			run := sample.Run{Type: sample.Float64}
			for err == nil {
				if err = r.Read(&run, 1); !errors.Is(err, ErrNextChunk) {
					continue
				}
				var h Header
				for h, err = r.Next(); errors.Is(err, ErrNoHeader); h, err = r.Next() {
					if h.Type != sample.Unknown || h.PV != "" {
						t.Errorf("the damaged header is %+v", h)
					}
					if err = nil; !skip {
						break
					}
					if err = r.Skip(ErrNoHeader); !errors.Is(err, ErrNextChunk) {
						break
					}
				}
			}
			if !errors.Is(err, io.EOF) || run.Len() != 2 || problems != 4 {
				t.Errorf("read %d samples with %d problems, %v; want 2 with 4", run.Len(), problems, err)
			}
		})
	}
}

// FuzzReader checks that a reader survives any bytes, and stays within bounds.
func FuzzReader(f *testing.F) {
	f.Add([]byte(header(6, 2026) + line(at(1, 0, double(1)))))
	f.Add([]byte(header(7, 2026) + line(at(1, 0, text(0x1a, "x"))+text(0x3a, text(0x0a, "EGU")+text(0x12, "mA")))))
	f.Add([]byte(header(8, 2026) + line(at(1, 0, text(0x1a, "\x01\x04"))) + "\n" + header(3, 2027)))
	f.Fuzz(func(t *testing.T, file []byte) {
		r := NewReader(strings.NewReader(string(file)))
		h, err := r.Header()
		if err != nil {
			return
		}
		run := sample.Run{Type: h.Type}
		lines := 1
		for err == nil && h.Type != sample.Unknown {
			err = r.Read(&run, 7)
			if errors.Is(err, ErrNextChunk) {
				var next Header
				if next, err = r.Next(); errors.Is(err, ErrNoHeader) {
					err = r.Skip(err)
				}
				if next.Type != h.Type || err == nil && next.Type == sample.Unknown {
					return
				}
			}
		}
		if lines += strings.Count(string(file), "\n"); run.Len()+r.Problems() > lines || r.Offset() > int64(len(file)) {
			t.Fatalf("%d samples and %d problems in %d lines, to byte %d of %d", run.Len(), r.Problems(), lines, r.Offset(), len(file))
		}
	})
}

// BenchmarkRead reads float64 samples.
func BenchmarkRead(b *testing.B) {
	var file strings.Builder
	file.WriteString(header(6, 2026))
	const n = 100_000
	for i := range uint64(n) {
		file.WriteString(line(at(i, 123_456_789, double(float64(i)/3))))
	}
	run := sample.Run{Type: sample.Float64}
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		r := NewReader(strings.NewReader(file.String()))
		if _, err := r.Header(); err != nil {
			b.Fatal(err)
		}
		for err := error(nil); err == nil; {
			run.Reset(sample.Float64)
			err = r.Read(&run, 8192)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}
