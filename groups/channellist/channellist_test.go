package channellist

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
)

// everything is a channel whose settings have no zero field.
var everything = capture.Settings{
	Provider: capture.PVA, Fields: "dimension,value.x", Properties: "DESC,SCAN",
	Mode: capture.Scan, Period: 1500 * time.Millisecond, Events: capture.EventLog | capture.EventAlarm | capture.EventValue,
	Absolute: 0.1, Relative: 1e-300, Unchanged: true, Heartbeat: 10 * time.Minute, MaxRate: 2.5,
	Clock: capture.EngineClock, Ahead: 5 * time.Minute, Behind: 365 * 24 * time.Hour, OnClock: capture.Refuse,
	Paused: true, PauseReason: "shutdown (planned from 2027-07-01T06:00:00Z to 2027-07-02T06:00:00Z)",
	MaxPeriod: time.Hour, EnabledBy: "pva://SR:BEAM == 'Open'",
	Retention: store.Retention{Raw: store.Keep90d, Levels: [store.MaxLevels]store.Level{
		store.LevelOf(1500*time.Millisecond, store.Keep1y), store.LevelOf(11111*time.Second, store.Keep2y), store.LevelOf(365*24*time.Hour, store.Forever),
	}},
}

var monitor = capture.Settings{Events: capture.EventLog | capture.EventAlarm, Ahead: 5 * time.Minute, Behind: 24 * time.Hour}

// machineChannels returns sorted channels with typical accelerator names: a subset of the names
// that a naming rule generates.
func machineChannels(n int) []capture.Channel {
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	areas := []string{"SR", "BO", "LT", "BT", "FE", "ID"}
	devices := []string{"VA-IMG", "VA-GV", "PS-QF", "PS-QD", "PS-COR", "DI-BPM", "RF-CAV", "MG-TEMP"}
	signals := []string{"PRES-MON", "POS-RBV", "I-RB", "I-SP", "X", "Y", "STATUS", "TEMP-01", "TEMP-02", "INTLK", "V-RB.HIHI"}
	fast := monitor
	fast.MaxRate = 10
	seen := map[string]bool{}
	var out []capture.Channel
	for len(out) < n {
		pv := fmt.Sprintf("%s%02d-%s-%02d:%s", areas[rng.IntN(len(areas))], 1+rng.IntN(48), devices[rng.IntN(len(devices))],
			1+rng.IntN(40), signals[rng.IntN(len(signals))])
		if seen[pv] {
			continue
		}
		seen[pv] = true
		ch := capture.Channel{PV: pv, Group: "ops/" + pv[5:10], Settings: &monitor}
		if rng.IntN(5) == 0 {
			ch.Settings = &fast
		}
		out = append(out, ch)
	}
	sortByPV(out)
	return out
}

// site returns the channels of a site and their lists. It makes them once, because that takes
// seconds.
var site = sync.OnceValues(func() ([]capture.Channel, []List) { return siteOf(120_000) })

func siteOf(n int) ([]capture.Channel, []List) {
	channels := machineChannels(n)
	return channels, Encode(channels)
}

func sortByPV(channels []capture.Channel) {
	slices.SortFunc(channels, func(a, b capture.Channel) int { return strings.Compare(a.PV, b.PV) })
}

func decodeAll(t *testing.T, lists []List) []capture.Channel {
	t.Helper()
	var out []capture.Channel
	for _, l := range lists {
		channels, err := Decode(l.Data)
		if err != nil {
			t.Fatal(err)
		}
		if len(channels) != l.Channels || l.Name != Hash(l.Data) || len(l.Name) != 20 {
			t.Errorf("list %s has %d in Channels, but contains %d channels", l.Name, l.Channels, len(channels))
		}
		out = append(out, channels...)
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	many := machineChannels(5000)
	for name, channels := range map[string][]capture.Channel{
		"nothing": nil,
		"one":     {{PV: "SR:X", Group: "ops/a", Settings: &everything}},
		"prefixes of each other": {
			{PV: "SR", Group: "ops/a", Settings: &monitor}, {PV: "SR:X", Group: "ops/b", Settings: &everything}, {PV: "SR:XY", Group: "ops/a", Settings: &monitor},
		},
		"to be deleted": {{PV: "SR:X", Group: "ops/a"}, {PV: "SR:Y"}},
		"many":          many,
	} {
		if diff := cmp.Diff(channels, decodeAll(t, Encode(channels))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestEverySettingIsEncoded checks that a list encodes every field of the settings, because
// engines would lose the other fields.
func TestEverySettingIsEncoded(t *testing.T) {
	v := reflect.ValueOf(everything)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s is zero in this test", v.Type().Field(i).Name)
		}
		one := monitor
		one.Mode, one.Period = capture.Scan, time.Second
		reflect.ValueOf(&one).Elem().Field(i).Set(v.Field(i))
		got := decodeAll(t, Encode([]capture.Channel{{PV: "X", Settings: &one}}))
		if diff := cmp.Diff(one, *got[0].Settings); diff != "" {
			t.Error(diff)
		}
	}
}

// TestTheLargestSettingsFit checks that a list can hold the largest settings. A PV in several
// groups can have many names of groups, fields and properties.
func TestTheLargestSettingsFit(t *testing.T) {
	s := everything
	var fields, properties []string
	for i := range 64 {
		if i < 16 {
			fields = append(fields, fmt.Sprintf("%02d%s", i, strings.Repeat("f", 62)))
		}
		properties = append(properties, fmt.Sprintf("P%02d%s", i, strings.Repeat("P", 29)))
	}
	for i := range s.Retention.Levels {
		s.Retention.Levels[i] = store.LevelOf(199*365*24*time.Hour-time.Duration(8-i)*time.Millisecond, store.Keep10y)
	}
	s.Fields, s.Properties = strings.Join(fields, ","), strings.Join(properties, ",")
	got := decodeAll(t, Encode([]capture.Channel{{PV: "X", Settings: &s}}))
	if diff := cmp.Diff(s, *got[0].Settings); diff != "" {
		t.Error(diff)
	}
}

func TestEqualSettingsAreShared(t *testing.T) {
	again := monitor
	got := decodeAll(t, Encode([]capture.Channel{{PV: "A", Settings: &monitor}, {PV: "B", Settings: &again}, {PV: "C", Settings: &everything}}))
	if got[0].Settings != got[1].Settings || got[0].Settings == got[2].Settings {
		t.Error("equal settings are encoded more than once")
	}
}

// TestBytes checks the exact bytes of lists. Different bytes would rename every list of every
// archive.
func TestBytes(t *testing.T) {
	lists := Encode(machineChannels(10_000))
	var names []string
	for _, l := range lists {
		names = append(names, l.Name)
	}
	if want := []string{"c0a63d0df37ed3d787db"}; !slices.Equal(names, want) {
		t.Errorf("the lists are %q, want %q", names, want)
	}
}

func TestListsFitIntoConfigMaps(t *testing.T) {
	typical, lists := site()
	checkListsFit(t, 8000, len(typical), lists)
}

// TestLong_ListsFitIntoConfigMaps is TestListsFitIntoConfigMaps with more channels.
func TestLong_ListsFitIntoConfigMaps(t *testing.T) {
	typical, lists := siteOf(300_000)
	checkListsFit(t, 20_000, len(typical), lists)
}

// checkListsFit checks the sizes of the lists of typical channels, of n channels with long
// names, and of 2.5 n channels with different settings.
func checkListsFit(t *testing.T, n, typical int, typicalLists []List) {
	rng := rand.New(rand.NewPCG(1, 2))
	var long []capture.Channel // names that do not compress
	for i := range n {
		name := []byte(fmt.Sprintf("%05d", i))
		for len(name) < 250 {
			name = append(name, byte('!'+rng.IntN(90)))
		}
		long = append(long, capture.Channel{PV: string(name), Group: "ops/a", Settings: &monitor})
	}
	var distinct []capture.Channel // each channel has different settings
	for i := range n * 5 / 2 {
		s := monitor
		s.Absolute = rng.Float64()
		distinct = append(distinct, capture.Channel{PV: fmt.Sprintf("%05d", i), Group: fmt.Sprint("ops/", rng.Uint64()), Settings: &s})
	}
	for name, tc := range map[string]struct {
		channels int
		lists    []List
	}{
		"long names":        {len(long), Encode(long)},
		"distinct settings": {len(distinct), Encode(distinct)},
		"typical":           {typical, typicalLists},
	} {
		lists := tc.lists
		if len(lists) < 2 || len(lists) > 64 {
			t.Errorf("%s: %d lists", name, len(lists))
		}
		for _, l := range lists {
			if len(l.Data) > MaxSize {
				t.Errorf("%s: a list has %d bytes", name, len(l.Data))
			}
		}
		if got := decodeAll(t, lists); len(got) != tc.channels {
			t.Errorf("%s: decoded %d channels, want %d", name, len(got), tc.channels)
		}
	}
}

// TestEditsChangeFewLists checks that adding or removing PVs changes only the lists around
// them.
func TestEditsChangeFewLists(t *testing.T) {
	channels, lists := site()
	edit(t, channels, lists, 2)
}

// TestLong_EditsChangeFewLists is TestEditsChangeFewLists with more channels and edits.
func TestLong_EditsChangeFewLists(t *testing.T) {
	channels, lists := siteOf(300_000)
	edit(t, channels, lists, 5)
}

// edit makes one edit with each of the first seeds: it removes a PV or adds one.
func edit(t *testing.T, channels []capture.Channel, before []List, seeds uint64) {
	t.Helper()
	old := map[string]bool{}
	for _, l := range before {
		old[l.Name] = true
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 0))
		edited := slices.Clone(channels)
		at := rng.IntN(len(edited))
		if seed%2 == 0 {
			edited = slices.Delete(edited, at, at+1)
		} else {
			edited = slices.Insert(edited, at+1, capture.Channel{PV: edited[at].PV + "!", Group: "ops/new", Settings: &monitor})
		}
		changed := 0
		for _, l := range Encode(edited) {
			if !old[l.Name] {
				changed++
			}
		}
		if changed > 3 {
			t.Errorf("seed %d: %d of %d lists changed", seed, changed, len(before))
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	channels := machineChannels(200_000 / 64)
	lists := Encode(channels)
	bytes := 0
	for _, l := range lists {
		bytes += len(l.Data)
	}
	b.ReportAllocs()
	for b.Loop() {
		Encode(channels)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(channels)), "ns/PV")
	b.ReportMetric(float64(bytes)/float64(len(channels)), "bytes/PV")
}

func BenchmarkDecode(b *testing.B) {
	channels := machineChannels(200_000 / 64)
	lists := Encode(channels)
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range lists {
			if _, err := Decode(l.Data); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(channels)), "ns/PV")
}
