package archive

import (
	"encoding/hex"
	"slices"
	"testing"
	"time"
)

// counted returns n samples of a PV that counts from step 100 on, with a sample every 100 ms.
// The values are repeated sums of Step and include its rounding errors.
func counted(n int) (events []Event) {
	value := 0.0
	for i := range 100 + n {
		if i >= 100 {
			events = append(events, Event{Time: int64(i) * 1e8, Value: value})
		}
		value += Step
	}
	return events
}

func TestTally(t *testing.T) {
	whole := counted(50)
	for _, c := range []struct {
		name             string
		events           []Event
		lost, duplicated int
		longest          time.Duration
	}{
		{"whole", whole, 0, 0, 100 * time.Millisecond},
		{"a hole", slices.Delete(slices.Clone(whole), 10, 15), 5, 0, 600 * time.Millisecond},
		{"two holes", slices.Delete(slices.Delete(slices.Clone(whole), 20, 21), 10, 12), 3, 0, 300 * time.Millisecond},
		{"a sample twice", slices.Insert(slices.Clone(whole), 10, whole[9]), 0, 1, 100 * time.Millisecond},
		{"a sample again, later", append(slices.Clone(whole), whole[3]), 0, 1, 100 * time.Millisecond},
	} {
		got := NewTally(c.events)
		if got.Lost != c.lost || got.Duplicated != c.duplicated || got.Longest != c.longest || got.First != 100 || got.Last != 149 {
			t.Errorf("%s: got %v, longest %v; want %d lost, %d duplicated, longest %v", c.name, got, got.Longest, c.lost, c.duplicated, c.longest)
		}
	}
	if got := NewTally(nil); got.Samples != 0 || got.Lost != 0 {
		t.Errorf("tally of no samples: got %v", got)
	}
}

func TestDecodeRaw(t *testing.T) {
	// Two chunks with SCALAR_DOUBLE samples of X, in 2025 and 2026. The nanoseconds 10 are an
	// escaped byte, and one sample has a string field.
	const body = "0806120158" + "18e90f" + "0a" +
		"0801" + "101b02" + "19000000000000f83f" + "0a" +
		"0802" + "1000" + "190000000000000440" + "2002" + "2803" + "3a06" + "1b02" + "0148120131" + "0a" +
		"0a" +
		"0806120158" + "18ea0f" + "0a" +
		"0800" + "1005" + "190000000000000840" + "0a"
	raw, err := hex.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	events, err := decodeRaw(raw)
	if err != nil {
		t.Fatal(err)
	}
	in := func(year int) int64 { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() }
	want := []Event{
		{Time: in(2025) + 1e9 + 10, Value: 1.5},
		{Time: in(2025) + 2e9, Value: 2.5, Severity: 2, Status: 3},
		{Time: in(2026) + 5, Value: 3},
	}
	if !slices.Equal(events, want) {
		t.Errorf("got %v, want %v", events, want)
	}
	if _, err := decodeRaw(raw[:len(raw)-3]); err == nil {
		t.Error("decodeRaw accepted a truncated body")
	}
}
