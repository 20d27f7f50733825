package capture

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// entries returns the metadata entries of a PV, as "NAME=VALUE …" with the unit first.
func (r *rig) entries(pv string) (out []string) {
	r.marks.mu.Lock()
	defer r.marks.mu.Unlock()
	for _, m := range r.marks.meta[pv] {
		words := []string{m.Units}
		for _, p := range m.Properties {
			words = append(words, p.Name+"="+p.Value)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func (r *rig) expect(t *testing.T, pv string, want ...string) {
	t.Helper()
	if got := r.entries(pv); !slices.Equal(got, want) {
		t.Fatalf("metadata of %s: %q, want %q", pv, got, want)
	}
}

func send(sink Sink, v string) { sink.Sample(&sample.Sample{Time: 1, Bytes: []byte(v)}) }

func TestPropertiesAreKeptWithMetadata(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC,MDEL,SCAN"}, "A.HIGH")})
		if got := r.source.takeCalls(); got != "+A.HIGH +A.DESC +A.MDEL +A.SCAN" {
			t.Fatalf("subscriptions: %s", got)
		}
		if o := r.source.opts["A.DESC"]; o.Events != EventValue {
			t.Fatalf("properties are subscribed to with %+v", o)
		}
		channel := r.connect("A.HIGH", sample.Float64)
		channel.Metadata(&sample.Metadata{Units: "mbar"})
		desc, mdel, scan := r.connect("A.DESC", sample.String), r.connect("A.MDEL", sample.Float64), r.connect("A.SCAN", sample.Enum)
		scan.Metadata(&sample.Metadata{Labels: []string{"Passive", "Event", "1 second"}})
		send(desc, "pressure")
		scan.Sample(&sample.Sample{Time: 1, Word: 2})
		testclock.Advance(5 * time.Second)
		r.expect(t, "A.HIGH") // MDEL has no value yet
		mdel.Sample(&sample.Sample{Time: 1, Word: math.Float64bits(0.25)})
		testclock.Advance(2 * time.Second)
		first := "mbar DESC=pressure MDEL=0.25 SCAN=1 second"
		r.expect(t, "A.HIGH", first)
		if m := r.status(t, "A.HIGH").Metadata; len(m.Properties) != 3 || m.Properties[0].Value != "pressure" {
			t.Fatalf("the status has %+v", m.Properties)
		}

		// The same value again, as after an alarm or a reconnect, causes no entry.
		send(desc, "pressure")
		desc.Disconnected(errors.New("gone"))
		desc.Connected(ChannelInfo{Type: sample.String, Count: 1})
		send(desc, "pressure")
		testclock.Advance(time.Minute)
		r.expect(t, "A.HIGH", first)
		scan.Sample(&sample.Sample{Time: 2, Word: 0})
		testclock.Advance(time.Minute)
		r.expect(t, "A.HIGH", first, "mbar DESC=pressure MDEL=0.25 SCAN=Passive")
		channel.Metadata(&sample.Metadata{Units: "Pa"})
		testclock.Advance(time.Minute)
		r.expect(t, "A.HIGH", first, "mbar DESC=pressure MDEL=0.25 SCAN=Passive", "Pa DESC=pressure MDEL=0.25 SCAN=Passive")
	})
}

func TestAPropertyThatNoServerHasDelaysMetadataForALimitedTime(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC,NOPE"}, "A")})
		at := time.Now().UnixNano()
		r.connect("A", sample.Float64).Metadata(&sample.Metadata{Units: "A"})
		send(r.connect("A.DESC", sample.String), "current")
		testclock.Advance(waitForAll - 2*time.Second)
		r.expect(t, "A")
		testclock.Advance(4 * time.Second)
		r.expect(t, "A", "A DESC=current")
		if since := r.marks.since["A"]; since != at {
			t.Fatalf("the entry begins %v after the channel connected", time.Duration(since-at))
		}
		r.source.sinks["A.NOPE"].Connected(ChannelInfo{TypeName: "union"})
		testclock.Advance(waitForAll)
		r.expect(t, "A", "A DESC=current")
	})
}

// TestPropertiesOfAString checks a string of Channel Access, which has properties but no
// metadata.
func TestPropertiesOfAString(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC"}, "A")})
		send(r.connect("A.DESC", sample.String), "operator")
		testclock.Advance(2 * waitForAll)
		r.expect(t, "A")
		sink := r.connect("A", sample.String)
		testclock.Advance(5 * time.Second)
		r.expect(t, "A", " DESC=operator")
		sink.Disconnected(errors.New("gone"))
		r.connect("A", sample.String)
		testclock.Advance(time.Minute)
		r.expect(t, "A", " DESC=operator")
	})
}

// TestARestlessPropertyCausesFewEntries checks that a property that changes all the time does
// not fill the store.
func TestARestlessPropertyCausesFewEntries(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "VAL"}, "A")})
		r.connect("A", sample.Float64).Metadata(&sample.Metadata{})
		sink := r.connect("A.VAL", sample.Int32)
		for i := range 1000 {
			sink.Sample(&sample.Sample{Time: int64(i), Word: uint64(i)})
			testclock.Advance(100 * time.Millisecond)
		}
		if n := len(r.entries("A")); n < 9 || n > 12 {
			t.Fatalf("%d entries in 100 s", n)
		}
	})
}

func TestPropertiesFollowTheSettings(t *testing.T) {
	inManager(t, func(r *rig) {
		steps := []struct {
			name  string
			set   Settings
			calls string
		}{
			{"at first", Settings{Properties: "DESC,SCAN"}, "+A +A.DESC +A.SCAN"},
			{"another deadband", Settings{Properties: "DESC,SCAN", Absolute: 1}, ""},
			{"one more, one less", Settings{Properties: "MDEL,SCAN"}, "-A.DESC +A.MDEL"},
			{"paused", Settings{Properties: "MDEL,SCAN", Paused: true}, "-A -A.MDEL -A.SCAN"},
			{"resumed", Settings{Properties: "MDEL,SCAN"}, "+A +A.MDEL +A.SCAN"},
			{"none", Settings{}, "-A.MDEL -A.SCAN"},
		}
		for _, st := range steps {
			r.Apply(Assignment{0: groupOf(st.set, "A")})
			if got := r.source.takeCalls(); got != st.calls {
				t.Errorf("%s: subscriptions changed by %q, want %q", st.name, got, st.calls)
			}
		}
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC"}, "A")})
		r.source.takeCalls()
		if n := r.Totals().Properties; n != 1 {
			t.Errorf("%d properties are counted", n)
		}
		r.Apply(Assignment{})
		if got := r.source.takeCalls(); got != "-A -A.DESC" {
			t.Errorf("at the end %q", got)
		}
	})
}

// TestPausingWritesNoMetadata checks that the properties of a paused channel keep their last
// values.
func TestPausingWritesNoMetadata(t *testing.T) {
	inManager(t, func(r *rig) {
		set := Settings{Properties: "DESC"}
		r.Apply(Assignment{0: groupOf(set, "A")})
		r.connect("A", sample.Float64).Metadata(&sample.Metadata{})
		send(r.connect("A.DESC", sample.String), "current")
		testclock.Advance(5 * time.Second)
		set.Paused = true
		r.Apply(Assignment{0: groupOf(set, "A")})
		testclock.Advance(2 * waitForAll)
		set.Paused = false
		r.Apply(Assignment{0: groupOf(set, "A")})
		testclock.Advance(2 * waitForAll)
		r.expect(t, "A", " DESC=current")
	})
}

// TestPropertiesFollowAChangeOfTheProvider checks that properties are subscribed through the
// new provider. pvAccess metadata contains the description, so it needs no subscription.
func TestPropertiesFollowAChangeOfTheProvider(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC,MDEL"}, "A")})
		r.connect("A", sample.Float64).Metadata(&sample.Metadata{})
		if r.source.takeCalls() != "+A +A.DESC +A.MDEL" || r.pva.takeCalls() != "" {
			t.Fatal("the PV is not captured through Channel Access")
		}
		r.Apply(Assignment{0: groupOf(Settings{Provider: PVA, Fields: "value", Properties: "DESC,MDEL"}, "A")})
		if ca, pva := r.source.takeCalls(), r.pva.takeCalls(); ca != "-A -A.DESC -A.MDEL" || pva != "+A +A.MDEL" {
			t.Fatalf("Channel Access %q, pvAccess %q", ca, pva)
		}
		if o := r.pva.opts["A"]; o.Fields != "value,alarm,timeStamp" {
			t.Errorf("subscribed fields: %q", o.Fields)
		}
		if o := r.pva.opts["A.MDEL"]; o.Fields != "" {
			t.Errorf("subscribed fields of a property: %q", o.Fields)
		}
		if st := r.status(t, "A"); st.Provider != PVA || st.State != Searching {
			t.Errorf("%+v", st)
		}
		if want := []string{"A connected", "A disconnected"}; !slices.Equal(r.marks.kinds(), want) {
			t.Errorf("marks %v, want %v", r.marks.kinds(), want)
		}
		r.pva.sinks["A"].Connected(ChannelInfo{Type: sample.Float64, Count: 1})
		r.pva.sinks["A"].Metadata(&sample.Metadata{Properties: []sample.Property{{Name: "DESC", Value: "current"}}})
		r.pva.sinks["A.MDEL"].Connected(ChannelInfo{Type: sample.Int16, Count: 1})
		r.pva.sinks["A.MDEL"].Sample(&sample.Sample{Time: 1, Word: 3})
		testclock.Advance(time.Minute)
		r.expect(t, "A", " DESC=current MDEL=3")
	})
}

func TestTextOfProperties(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	for _, tc := range []struct {
		typ  sample.Type
		s    sample.Sample
		want string
	}{
		{sample.Float64, sample.Sample{Word: math.Float64bits(1e-12)}, "1e-12"},
		{sample.Float32, sample.Sample{Word: uint64(math.Float32bits(0.1))}, "0.1"},
		{sample.Int16, sample.Sample{Word: ^uint64(0)}, "-1"},
		{sample.Uint64, sample.Sample{Word: ^uint64(0)}, "18446744073709551615"},
		{sample.Bool, sample.Sample{Word: 1}, "true"},
		{sample.Enum, sample.Sample{Word: 1}, "on"},
		{sample.Enum, sample.Sample{Word: 7}, "7"},
		{sample.String, sample.Sample{Bytes: []byte("°C")}, "°C"},
		{sample.String, sample.Sample{Bytes: []byte("x" + long)[:maxPropertyBytes]}, "x" + long[:maxPropertyBytes-2]},
		{sample.Int16.Array(), sample.Sample{Bytes: []byte{1, 0, 0xff, 0xff, 3}}, "1 -1"},
		{sample.String.Array(), sample.Sample{Bytes: sample.AppendStrings(nil, "a", "b")}, "a b"},
		{sample.Struct, sample.Sample{Bytes: []byte{1}}, "struct"},
	} {
		if got := text(tc.typ, &tc.s, []string{"off", "on"}); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.typ, got, tc.want)
		}
	}
	if got := text(sample.Float64.Array(), &sample.Sample{Bytes: make([]byte, 1<<20)}, nil); len(got) > maxPropertyBytes {
		t.Errorf("the text of an array has %d bytes", len(got))
	}
}

func TestSteadyPropertiesCostNoMemory(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC"}, "A")})
		sink := r.connect("A.DESC", sample.String)
		s := sample.Sample{Time: 1, Bytes: []byte("current")}
		if n := testing.AllocsPerRun(100, func() { sink.Sample(&s) }); n > 0 {
			t.Errorf("%v allocations per update", n)
		}
	})
}
