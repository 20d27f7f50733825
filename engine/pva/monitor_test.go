package pva

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// withChannel runs a test with a connected channel of a server.
func withChannel(t *testing.T, server *script, f func(t *testing.T, s *session, r *recorder)) {
	t.Helper()
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		f(t, server.last(), r)
	}, server)
}

func TestOverrunsAreCounted(t *testing.T) {
	server := doubles(nameServerAddr)
	withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
		s.write(s.overrun(s.subs[0], []int{fieldValue}, []int{fieldValue}, 8.0))
		s.write(s.overrun(s.subs[0], []int{fieldAll}, []int{fieldValue}, 9.0))
		s.write(s.overrun(s.subs[0], []int{fieldSeverity, fieldUnits}, []int{fieldValue}, 10.0))
		s.write(s.overrun(s.subs[0], []int{4000}, []int{fieldValue}, 11.0))
		synctest.Wait()
		if diff := cmp.Diff([]float64{7, 8, 9, 10, 11}, r.Floats()); diff != "" || r.Drops[sample.Overrun] != 2 {
			t.Errorf("%d overrun updates, want only those of the value; (-want +got):\n%s", r.Drops[sample.Overrun], diff)
		}
	})
}

func TestPipelinedUpdatesAreAcknowledgedBeforeTheWindowIsUsedUp(t *testing.T) {
	server := doubles(nameServerAddr)
	synctest.Test(t, func(t *testing.T) {
		config := config(clienttest.NewNetwork(server))
		config.Pipeline = true
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Subscribe("PV", capture.SubscribeOptions{}, &recorder{})
		testclock.Advance(time.Second)
		s := server.last()
		for i := range 100 {
			s.write(s.update(s.subs[0], []int{fieldValue}, float64(i)))
			synctest.Wait()
			server.mu.Lock()
			if open := i + 2 - int(server.acked[s.subs[0]]); open >= DefaultQueueSize {
				t.Errorf("the client has not acknowledged %d updates of a window of %d", open, DefaultQueueSize)
			}
			server.mu.Unlock()
		}
		if acks := server.count(proto.CmdMonitor) - 2; acks > 10 {
			t.Errorf("the client sent %d acknowledgements for 100 updates", acks)
		}
		want := fmt.Sprint(proto.SubInit|proto.SubPipeline, " field{}record{_options{queueSize{}pipeline{}}}\x0232\x04true")
		if got := server.requested[s.subs[0]]; got != want {
			t.Errorf("the request is %q, want %q", got, want)
		}
	})
}

func TestUpdatesAreNotAcknowledgedWithoutAPipeline(t *testing.T) {
	server := doubles(nameServerAddr)
	withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
		for i := range 100 {
			s.write(s.update(s.subs[0], []int{fieldValue}, float64(i)))
		}
		synctest.Wait()
		if got := server.count(proto.CmdMonitor); got != 2 || len(r.Floats()) != 101 {
			t.Errorf("%d requests after the start of the monitor, %d updates", got-2, len(r.Floats()))
		}
		want := fmt.Sprint(proto.SubInit, " field{}record{_options{queueSize{}}}\x0232")
		if got := server.requested[s.subs[0]]; got != want {
			t.Errorf("the request is %q, want %q", got, want)
		}
	})
}

func TestRequestHasTheFields(t *testing.T) {
	for fields, want := range map[string]string{
		"value,timeStamp":                        "value{}timeStamp{}",
		"alarm,alarm.severity,a.b.c,a.d":         "alarm{}a{b{c{}}d{}}",
		"alarm.severity, alarm , value":          "alarm{}value{}",
		"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.": "a{a{a{a{a{a{a{a{}}}}}}}}",
	} {
		server := doubles(nameServerAddr)
		bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
			c.Subscribe("PV", capture.SubscribeOptions{Fields: fields}, &recorder{})
			testclock.Advance(time.Second)
			want := fmt.Sprint(proto.SubInit, " field{", want, "}record{_options{queueSize{}}}\x0232")
			if diff := cmp.Diff(map[uint32]string{0: want}, server.requested); diff != "" {
				t.Errorf("%s (-want +got):\n%s", fields, diff)
			}
		}, server)
	}
}

func TestMetadataIsDeliveredWhenItChanges(t *testing.T) {
	server := doubles(nameServerAddr)
	withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
		s.write(s.update(s.subs[0], []int{fieldUnits}, "mA"))                // no change
		s.write(s.update(s.subs[0], []int{fieldHigh, fieldUnits}, 5.0, "A")) // no sample
		s.write(s.update(s.subs[0], []int{fieldHigh}, 5.0))
		s.write(s.update(s.subs[0], []int{fieldValue}, 8.0))
		s.write(s.update(s.subs[0], []int{fieldTag}, 3)) // a field that is not archived
		s.write(s.update(s.subs[0], nil))
		s.write(s.update(s.subs[0], []int{fieldAll}, scalar(9)...))
		synctest.Wait()
		want := []string{"connected float64", "metadata mA", "metadata A", "metadata mA"}
		if diff := cmp.Diff(want, r.Calls()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]float64{7, 8, 9}, r.Floats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAlarms(t *testing.T) {
	server := doubles(nameServerAddr)
	withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
		for _, c := range []struct {
			severity, status int
			message          string
			want             sample.Tag
		}{
			{1, 1, "HIGH", sample.MakeTag(sample.Minor, 4)},
			{3, 2, "UDF", sample.MakeTag(sample.Invalid, 17)},
			{3, 3, "LINK_ALARM", sample.MakeTag(sample.Invalid, 14)},
			{2, 2, "pump has tripped", sample.MakeTag(sample.Major, 9)},
			{4, 6, "", sample.MakeTag(sample.Invalid, 17)},
			{1, 1000, "", sample.MakeTag(sample.Minor, 17)},
			{-1, -1, "", sample.MakeTag(sample.Invalid, 17)},
			{0, 0, "", 0},
		} {
			s.write(s.update(s.subs[0], []int{2}, c.severity, c.status, c.message))
			synctest.Wait()
			if got := r.Samples[len(r.Samples)-1].Tag; got != c.want {
				t.Errorf("severity %d, status %d, message %q become %v %s, want %v", c.severity, c.status, c.message, got.Severity(), got.StatusName(), c.want)
			}
		}
		if len(r.Samples) != 9 {
			t.Errorf("got %d samples", len(r.Samples))
		}
	})
}

func TestTimes(t *testing.T) {
	server := doubles(nameServerAddr)
	withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
		now := time.Now().UnixNano()
		for _, c := range []struct {
			seconds int64
			nanos   int
			want    int64
			tag     sample.Tag
		}{
			{seconds, 999_999_999, seconds*1e9 + 999_999_999, 0},
			{seconds, 2_000_000_001, seconds*1e9 + 2_000_000_001, 0},
			{-5, 0, -5e9, 0},
			{0, 0, now, sample.EngineClock}, // the time was never set
			{math.MaxInt64, 0, now, sample.EngineClock},
			{math.MinInt64, -1, now, sample.EngineClock},
		} {
			s.write(s.update(s.subs[0], []int{fieldSeconds, fieldNanos}, c.seconds, c.nanos))
			synctest.Wait()
			if got := r.Samples[len(r.Samples)-1]; got.Time != c.want || got.Tag != c.tag {
				t.Errorf("%d s and %d ns become %d, tag %v", c.seconds, c.nanos, got.Time, got.Tag)
			}
		}
	})
}

func TestUpdateThatDoesNotDecodeRestartsTheChannel(t *testing.T) {
	for name, update := range map[string]func(s *session) []byte{
		"short":         func(s *session) []byte { return s.update(s.subs[0], []int{fieldValue}, 1) },
		"no such field": func(s *session) []byte { return s.update(s.subs[0], []int{fieldValue, 99}, 1.0) },
		"no overrun": func(s *session) []byte {
			b := s.update(s.subs[0], []int{fieldValue}, 1.0)
			return proto.End(b[:len(b)-1], 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
				testclock.Advance(time.Minute)
				s.write(update(s))
				s.write(s.update(s.subs[0], []int{fieldValue}, 8.0)) // the update was already in flight
				testclock.Advance(time.Second)
				want := []string{
					"connected float64", "metadata mA", "dropped malformed 1",
					"disconnected: lost 10.0.0.1:5075: " + errMalformed.Error(), "connected float64", "metadata mA",
				}
				if diff := cmp.Diff(want, r.Calls()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]float64{7, 7}, r.Floats()); diff != "" || server.circuits() != 1 {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestUpdatesOfUnknownChannelsAreSkipped(t *testing.T) {
	server := doubles(nameServerAddr)
	withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
		s.write(s.update(1<<30, []int{fieldValue}, 1.0))
		s.write(s.update(s.subs[0]+1, nil))
		s.write(s.update(s.subs[0], []int{fieldValue}, 8.0))
		synctest.Wait()
		if diff := cmp.Diff([]float64{7, 8}, r.Floats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestLossIsSuspectedInAFullQueueAfterAStall(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		busy, slow := &recorder{}, &recorder{}
		c.Subscribe("BUSY", capture.SubscribeOptions{}, busy)
		testclock.Advance(time.Second)
		c.Subscribe("SLOW", capture.SubscribeOptions{}, slow)
		testclock.Advance(time.Second)
		s := server.last()
		var burst []byte
		for i := range 40 { // 40 updates that the server created within 4 s
			at := time.Duration(i) * 100 * time.Millisecond
			burst = append(burst, s.update(s.subs[0], []int{fieldValue, fieldSeconds, fieldNanos}, float64(i), int64(seconds+at/time.Second), int(at%time.Second))...)
		}
		burst = append(burst, s.update(s.subs[1], []int{fieldValue}, 1.0)...)
		testclock.Advance(10 * time.Second)
		s.write(burst)
		synctest.Wait()
		if log := busy.Calls(); len(log) != 3 || !strings.HasPrefix(log[2], "suspect 1") {
			t.Errorf("a channel with many updates got %v", log)
		}
		if log := slow.Calls(); len(log) != 2 {
			t.Errorf("a channel with one update got %v", log)
		}
	}, server)
}

func TestNoLossIsSuspectedAfterAPauseOfTheServer(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PULSED", capture.SubscribeOptions{}, r)
		testclock.Advance(10 * time.Second)
		s := server.last()
		for i := range 100 { // the server sends each update at once
			at := time.Duration(i) * time.Millisecond
			s.write(s.update(s.subs[0], []int{fieldValue, fieldSeconds, fieldNanos}, float64(i), int64(seconds), int(at)))
			testclock.Advance(time.Millisecond)
		}
		if log := r.Calls(); len(log) != 2 || len(r.Floats()) != 101 {
			t.Errorf("%d updates, calls %v", len(r.Floats()), log)
		}
	}, server)
}

// nt returns the type of a structure with the members value, alarm and timeStamp.
func nt(id string, value *proto.Type, more ...any) *proto.Type {
	return proto.NewStruct(id, append([]any{"value", value, "alarm", alarmType, "timeStamp", timeType}, more...)...)
}

func TestTypesOfValues(t *testing.T) {
	of := proto.Of
	after := []any{0, 0, "", int64(seconds), 5, 0} // alarm and timeStamp
	for name, c := range map[string]struct {
		typ   *proto.Type
		value []any
		want  sample.Type
		word  uint64
		bytes string
	}{
		"bool":      {nt("epics:nt/NTScalar:1.0", of(proto.Bool)), []any{true}, sample.Bool, 1, ""},
		"byte":      {nt("epics:nt/NTScalar:1.0", of(proto.Int8)), []any{[]byte{0xff}}, sample.Int8, math.MaxUint64, ""},
		"ubyte":     {nt("epics:nt/NTScalar:1.0", of(proto.UInt8)), []any{[]byte{0xff}}, sample.Uint8, 255, ""},
		"short":     {nt("epics:nt/NTScalar:1.0", of(proto.Int16)), []any{[]byte{0xfe, 0xff}}, sample.Int16, math.MaxUint64 - 1, ""},
		"ushort":    {nt("epics:nt/NTScalar:1.0", of(proto.UInt16)), []any{[]byte{0xfe, 0xff}}, sample.Uint16, 65534, ""},
		"int":       {nt("epics:nt/NTScalar:1.0", of(proto.Int32)), []any{-3}, sample.Int32, math.MaxUint64 - 2, ""},
		"uint":      {nt("epics:nt/NTScalar:1.0", of(proto.UInt32)), []any{-3}, sample.Uint32, 1<<32 - 3, ""},
		"ulong":     {nt("epics:nt/NTScalar:1.0", of(proto.UInt64)), []any{int64(-3)}, sample.Uint64, math.MaxUint64 - 2, ""},
		"float":     {nt("epics:nt/NTScalar:1.0", of(proto.Float32)), []any{1 << 20}, sample.Float32, 1 << 20, ""},
		"string":    {nt("epics:nt/NTScalar:1.0", of(proto.String)), []any{"text"}, sample.String, 0, "text"},
		"bounded":   {nt("epics:nt/NTScalar:1.0", proto.Sized(proto.BoundedString, 9)), []any{"text"}, sample.String, 0, "text"},
		"array":     {nt("epics:nt/NTScalarArray:1.0", of(proto.Int16|proto.Array)), []any{[]byte{2, 1, 2, 3, 4}}, sample.Int16.Array(), 0, "\x01\x02\x03\x04"},
		"fixed":     {nt("epics:nt/NTScalarArray:1.0", proto.Sized(proto.Int16|proto.FixedArray, 2)), []any{[]byte{1, 2, 3, 4}}, sample.Int16.Array(), 0, "\x01\x02\x03\x04"},
		"empty":     {nt("epics:nt/NTScalarArray:1.0", of(proto.Float64|proto.Array)), []any{[]float64{}}, sample.Float64.Array(), 0, ""},
		"strings":   {nt("epics:nt/NTScalarArray:1.0", of(proto.String|proto.Array)), []any{[]string{"a", "", "bc"}}, sample.String.Array(), 0, "\x01a\x00\x02bc"},
		"no ID":     {nt("", of(proto.Int32)), []any{4}, sample.Int32, 4, ""},
		"extension": {nt("epics:nt/NTScalar:1.0", of(proto.Int32), "lab", of(proto.Int32)), []any{4}, sample.Int32, 4, ""},
		"enum": {
			nt("epics:nt/NTEnum:1.0", proto.NewStruct("enum_t", "index", of(proto.Int32), "choices", of(proto.String|proto.Array))),
			[]any{2, []string{"Off", "On", "Fault"}}, sample.Enum, 2, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.typ, server.first = c.typ, append(c.value, after...)
			if name == "extension" {
				server.first = append(server.first, 9)
			}
			withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
				if r.Info.Type != c.want || r.Meta.Type != c.want {
					t.Fatalf("got %+v, want type %v; calls %v", r.Info, c.want, r.Calls())
				}
				want := []sample.Sample{{Time: seconds*1e9 + 5, Word: c.word, Bytes: []byte(c.bytes)}}
				if diff := cmp.Diff(want, r.Samples, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if name == "enum" {
					if diff := cmp.Diff([]string{"Off", "On", "Fault"}, r.Meta.Labels); diff != "" {
						t.Errorf("labels (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

func TestStructuresAreStoredWhole(t *testing.T) {
	table := proto.NewStruct("epics:nt/NTTable:1.0",
		"labels", proto.Of(proto.String|proto.Array),
		"value", proto.NewStruct("", "x", proto.Of(proto.Float64|proto.Array), "y", proto.Of(proto.Int32)),
		"timeStamp", timeType, "alarm", alarmType)
	server := doubles(nameServerAddr)
	server.typ = table
	server.first = []any{[]string{"X", "Y"}, []float64{1, 2}, 3, int64(seconds), 0, 0, 2, 0, "HIHI"}
	withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
		s.write(s.update(s.subs[0], []int{3, 6}, []float64{5}, int64(seconds+1)))
		synctest.Wait()
		whole := func(x []float64, at int64) []byte {
			b := proto.AppendType(nil, table, proto.LittleEndian)
			return appendValues(b, proto.LittleEndian, []string{"X", "Y"}, x, 3, at, 0, 0, 2, 0, "HIHI")
		}
		tag := sample.MakeTag(sample.Major, 3)
		want := []sample.Sample{
			{Time: seconds * 1e9, Tag: tag, Bytes: whole([]float64{1, 2}, seconds)},
			{Time: (seconds + 1) * 1e9, Tag: tag, Bytes: whole([]float64{5}, seconds+1)},
		}
		if diff := cmp.Diff(want, r.Samples); diff != "" || r.Info.Type != sample.Struct || r.Info.TypeName != table.ID {
			t.Errorf("channel %+v, sample (-want +got):\n%s", r.Info, diff)
		}
	})
}

func TestStructureWithoutTimeIsStampedOnArrival(t *testing.T) {
	server := doubles(nameServerAddr)
	server.typ = proto.NewStruct("odd", "a", int32s, "b", proto.Of(proto.Any))
	number := []byte{byte(proto.Int32), 7, 0, 0, 0}
	server.first = []any{1, number}
	withChannel(t, server, func(t *testing.T, s *session, r *recorder) {
		want := appendValues(proto.AppendType(nil, server.typ, proto.LittleEndian), proto.LittleEndian, 1, number)
		if diff := cmp.Diff(want, r.Samples[0].Bytes); diff != "" || r.Samples[0].Tag != sample.EngineClock {
			t.Errorf("tag %v, sample (-want +got):\n%s", r.Samples[0].Tag, diff)
		}
		if age := time.Now().UnixNano() - r.Samples[0].Time; age < 0 || age > int64(time.Second) {
			t.Errorf("the time of the sample is %v old", time.Duration(age))
		}
	})
}

func TestFieldsOfAStructureAreStored(t *testing.T) {
	typ := proto.NewStruct("", "a", int32s, "b", proto.NewStruct("", "c", texts1, "d", int32s), "timeStamp", timeType)
	server := doubles(nameServerAddr)
	server.typ = typ // PVXS sends the whole type, whatever the request was
	server.first = []any{1, "text", 2, int64(seconds), 0, 0}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{Fields: "b.d,timeStamp.secondsPastEpoch"}, r)
		testclock.Advance(time.Second)
		kept := proto.NewStruct("", "b", proto.NewStruct("", "d", int32s), "timeStamp", proto.NewStruct("time_t", "secondsPastEpoch", proto.Of(proto.Int64)))
		want := appendValues(proto.AppendType(nil, kept, proto.LittleEndian), proto.LittleEndian, 2, int64(seconds))
		if diff := cmp.Diff([]sample.Sample{{Time: seconds * 1e9, Bytes: want}}, r.Samples); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}

func TestTypesMayBeNamedByNumber(t *testing.T) {
	server := doubles(nameServerAddr)
	inits := 0
	server.override = func(s *session, h *proto.Header, payload []byte) bool {
		r := proto.NewReader(payload, h.Order())
		q := proto.ParseRequest(&r)
		if h.Command != proto.CmdMonitor || q.Sub&proto.SubInit == 0 {
			return false
		}
		b := proto.BeginAnswer(nil, proto.CmdMonitor, proto.Answer{IOID: q.IOID, Sub: proto.SubInit}, s.flags())
		b = proto.AppendStatus(b, proto.Status{}, proto.LittleEndian)
		if inits++; inits == 1 {
			b = proto.AppendType(append(b, 0xfd, 1, 0), scalarType, proto.LittleEndian)
		} else {
			b = append(b, 0xfe, 1, 0)
		}
		s.write(proto.End(b, 0))
		return true
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		sinks := make([]recorder, 5)
		for i := range sinks {
			sub := c.Subscribe(fmt.Sprint("PV", i), capture.SubscribeOptions{}, &sinks[i])
			testclock.Advance(time.Second)
			if i == 0 {
				sub.Close() // the client keeps the type of this channel
			}
		}
		for i := range sinks {
			if diff := cmp.Diff([]float64{7}, sinks[i].Floats()); diff != "" {
				t.Errorf("channel %d (-want +got):\n%s", i, diff)
			}
		}
	}, server)
}

func TestTypesNumberedInSkippedUpdatesAreKnown(t *testing.T) {
	server := doubles(nameServerAddr)
	server.typ = proto.NewStruct("", "value", proto.Of(proto.Any))
	server.first = []any{[]byte{byte(proto.Null)}}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		closed, r := &recorder{}, &recorder{}
		sub := c.Subscribe("CLOSED", capture.SubscribeOptions{}, closed)
		testclock.Advance(time.Second)
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		server.override = func(_ *session, h *proto.Header, _ []byte) bool { return h.Command == proto.CmdDestroyChannel }
		sub.Close()
		synctest.Wait()
		s.write(s.update(s.subs[0], []int{1}, []byte{0xfd, 5, 0, byte(proto.UInt8), 42}))
		s.write(s.update(s.subs[1], []int{1}, []byte{0xfe, 5, 0, 43}))
		synctest.Wait()
		want := append(proto.AppendType(nil, server.typ, proto.LittleEndian), byte(proto.UInt8), 43)
		if diff := cmp.Diff(want, r.Samples[len(r.Samples)-1].Bytes); diff != "" || len(closed.Samples) != 1 {
			t.Errorf("calls %v, samples (-want +got):\n%s", r.Calls(), diff)
		}
	}, server)
}
