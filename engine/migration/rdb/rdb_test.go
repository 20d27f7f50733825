package rdb

import (
	"database/sql"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse("2006-01-02 15:04:05.999999", text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTimes checks how the two columns of a time are joined.
func TestTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		column timeColumn
		stamp  string
		nanos  int64
		want   string // empty: an error
	}{
		{"seconds are cut off", timeColumn{}, "2021-03-01 10:00:00", 600e6, "2021-03-01T10:00:00.6Z"},
		{"seconds are rounded up", timeColumn{rounded: true}, "2021-03-01 10:00:01", 600e6, "2021-03-01T10:00:00.6Z"},
		{"seconds are rounded down", timeColumn{rounded: true}, "2021-03-01 10:00:00", 499999999, "2021-03-01T10:00:00.499999999Z"},
		{"the fraction has microseconds", timeColumn{}, "2021-03-01 10:00:00.600001", 600000789, "2021-03-01T10:00:00.600000789Z"},
		{"the fraction is near the next second", timeColumn{}, "2021-03-01 10:00:00.999999", 999999999, "2021-03-01T10:00:00.999999999Z"},
		{"the fraction was rounded to the next second", timeColumn{fractions: true}, "2021-03-01 10:00:01", 999999700, "2021-03-01T10:00:00.9999997Z"},
		{"seconds are cut off at the end of a second", timeColumn{}, "2021-03-01 10:00:00", 999999700, "2021-03-01T10:00:00.9999997Z"},
		{"the fraction was rounded, to 0 of nanosecs", timeColumn{}, "2021-03-01 10:00:00.9999", 0, "2021-03-01T10:00:01Z"},
		{"the fraction is another one", timeColumn{}, "2021-03-01 10:00:00.25", 600e6, ""},
		{"too many nanoseconds", timeColumn{}, "2021-03-01 10:00:00", 1e9, ""},
		{"negative nanoseconds", timeColumn{}, "2021-03-01 10:00:00", -1, ""},
		{"before 1970", timeColumn{}, "1969-12-31 23:00:00", 0, ""},
		{"winter", timeColumn{zone: berlin}, "2021-03-01 10:00:00", 5, "2021-03-01T09:00:00.000000005Z"},
		{"summer", timeColumn{zone: berlin}, "2021-07-01 10:00:00", 5, "2021-07-01T08:00:00.000000005Z"},
		{"an hour that clocks skip", timeColumn{zone: berlin}, "2021-03-28 02:30:00", 0, ""},
		{"an hour that clocks show twice", timeColumn{zone: berlin}, "2021-10-31 02:30:00", 0, ""},
		{"the hour before it", timeColumn{zone: berlin}, "2021-10-31 01:59:59", 0, "2021-10-30T23:59:59Z"},
		{"the hour after it", timeColumn{zone: berlin}, "2021-10-31 03:00:00", 0, "2021-10-31T02:00:00Z"},
	} {
		var got int64
		k, err := c.column.key(at(t, c.stamp), c.nanos)
		if err == nil {
			got, err = c.column.at(k)
		}
		switch text := time.Unix(0, got).UTC().Format(time.RFC3339Nano); {
		case c.want == "" && err == nil:
			t.Errorf("%s: %s, want an error", c.what, text)
		case c.want != "" && (err != nil || text != c.want):
			t.Errorf("%s: %s, %v, want %s", c.what, text, err, c.want)
		}
	}
}

// TestTimesOfAnUpdatedEngine checks that a row with cut-off seconds shows that later ones are cut off, too.
func TestTimesOfAnUpdatedEngine(t *testing.T) {
	c := timeColumn{}
	for i, row := range []struct{ stamp, nanos, want int64 }{
		{1e9 + 250000e3, 250000001, 1e9 + 250000001}, // before the update
		{2e9, 999999700, 2e9 - 300},                  // rounded up
		{3e9, 250000001, 3e9 + 250000001},            // after the update
		{4e9, 999999700, 4e9 + 999999700},
	} {
		if got, err := c.at(key{row.stamp, row.nanos}); err != nil || got != row.want {
			t.Errorf("row %d is at %d, %v, want %d", i, got, err, row.want)
		}
	}
}

// TestAlarms checks the numbers of the names that archive engines have written.
func TestAlarms(t *testing.T) {
	for name, want := range map[string]uint16{"OK": 0, "NO_ALARM": 0, "": 0, "HIHI_ALARM": 3, "HIHI": 3, "UDF_ALARM": 17, "READ_ACCESS": 20, "lolo": 5} {
		if n, known := statusNumber(name); !known || n != want {
			t.Errorf("status %q is %d, %t, want %d", name, n, known, want)
		}
	}
	if _, known := statusNumber("on fire"); known {
		t.Error("an unknown status is known")
	}
	if s, known := severity("UNDEFINED"); !known || s != sample.Invalid {
		t.Errorf("UNDEFINED is %v, %t", s, known)
	}
	if s, known := severity("odd"); known || s != sample.Invalid {
		t.Errorf("an unknown severity is %v, %t", s, known)
	}
}

// TestAddressesAreChecked checks that errors say what is wrong and have no password.
func TestAddressesAreChecked(t *testing.T) {
	for address, want := range map[string]string{
		"sqlite:///x":                                 `"sqlite://"`,
		"postgres://u:geheim@127.0.0.1:x/db":          "not a URL",
		"postgres://u:geheim@127.0.0.1:1/db":          "connecting to the database",
		"mysql://u:geheim@127.0.0.1:1/db":             "connecting to the database",
		"mysql://u:geheim@127.0.0.1:1/":               "want mysql://USER@HOST/DATABASE",
		"mysql://u:geheim@127.0.0.1:1/db?tls=perhaps": "perhaps",
	} {
		_, err := Open(t.Context(), Options{URL: address})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %q, and no password", address, err, want)
		}
	}
}

// TestFloatsOfEnumerations checks that only numbers of states become states.
func TestFloatsOfEnumerations(t *testing.T) {
	r := &channelReader{Source: &Source{}, labels: []string{"Off", "On"}}
	for v, want := range map[float64]sample.Type{0: sample.Enum, 1: sample.Enum, 7: sample.Enum, 0.5: sample.Float64, -1: sample.Float64, math.Inf(1): sample.Float64} {
		if got, _, err := r.value(&row{float: sql.NullFloat64{Float64: v, Valid: true}}); err != nil || got != want {
			t.Errorf("%v is %v, %v, want %v", v, got, err, want)
		}
	}
}

// FuzzBlob decodes arrays that are cut, or whose length is wrong.
func FuzzBlob(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 2, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := blob("d", b)
		if err == nil && (len(out) != len(b)-4 || len(out) != 8*int(binary.BigEndian.Uint32(b))) {
			t.Errorf("%d bytes are %d bytes of elements", len(b), len(out))
		}
	})
}
