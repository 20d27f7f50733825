package proto

import "testing"

// ntScalar is the NTScalar type of IOC records.
var ntScalar = NewStruct("epics:nt/NTScalar:1.0",
	"value", Of(Float64),
	"alarm", NewStruct("alarm_t", "severity", Of(Int32), "status", Of(Int32), "message", Of(String)),
	"timeStamp", NewStruct("time_t", "secondsPastEpoch", Of(Int64), "nanoseconds", Of(Int32), "userTag", Of(Int32)),
	"display", NewStruct("", "limitLow", Of(Float64), "limitHigh", Of(Float64), "description", Of(String), "units", Of(String),
		"precision", Of(Int32), "form", NewStruct("enum_t", "index", Of(Int32), "choices", Of(String|Array))),
	"control", NewStruct("control_t", "limitLow", Of(Float64), "limitHigh", Of(Float64), "minStep", Of(Float64)),
	"valueAlarm", NewStruct("valueAlarm_t", "active", Of(Bool), "lowAlarmLimit", Of(Float64), "highAlarmLimit", Of(Float64)))

// update returns the frame of an update of some fields.
func update(value []byte, changed ...int) []byte {
	b := BeginAnswer(nil, CmdMonitor, Answer{IOID: 1}, FlagServer)
	b = AppendBitSet(b, bitSet(changed...), LittleEndian)
	b = append(b, value...)
	return End(AppendBitSet(b, nil, LittleEndian), 0)
}

// BenchmarkDoubleUpdate decodes the update of a record whose value has changed. The update has
// the value, seconds and nanoseconds.
func BenchmarkDoubleUpdate(b *testing.B) {
	benchmarkUpdates(b, update(make([]byte, 8+8+4), 1, 7, 8), Of(Float64), Of(Int64), Of(Int32))
}

func BenchmarkArrayUpdate(b *testing.B) {
	value := append(AppendSize(nil, 200000, LittleEndian), make([]byte, 8*200000+16)...)
	benchmarkUpdates(b, update(value, 1, 2), Of(Float64|Array), specTime)
}

// benchmarkUpdates decodes an update whose fields have the given types.
func benchmarkUpdates(b *testing.B, frame []byte, fields ...*Type) {
	var (
		h       Header
		set     BitSet
		current []byte
		known   Types
	)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		payload, _, err := ReadFrame(frame, &h, 1<<24)
		if err != nil {
			b.Fatal(err)
		}
		r := NewReader(payload, h.Order())
		ParseAnswer(&r, h.Command)
		set, current = r.BitSet(set), current[:0]
		for _, t := range fields {
			current = r.Value(current, t, &known)
		}
		if set = r.BitSet(set); r.Err() != nil || r.Len() > 0 {
			b.Fatal(r.Err())
		}
	}
}

// BenchmarkArrayBigEndian reverses the byte order of 200,000 numbers.
func BenchmarkArrayBigEndian(b *testing.B) {
	wire := append(AppendSize(nil, 200000, BigEndian), make([]byte, 8*200000)...)
	t := Of(Float64 | Array)
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	var value []byte
	for b.Loop() {
		r := NewReader(wire, BigEndian)
		if value = r.Value(value[:0], t, nil); r.Err() != nil {
			b.Fatal(r.Err())
		}
	}
}

func BenchmarkType(b *testing.B) {
	wire := AppendType(nil, ntScalar, LittleEndian)
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(wire, LittleEndian)
		if r.Type(nil) == nil {
			b.Fatal(r.Err())
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	stored := AppendZero(AppendType(nil, ntScalar, LittleEndian), ntScalar)
	b.SetBytes(int64(len(stored)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Walk(stored, func(*Part) {}); err != nil {
			b.Fatal(err)
		}
	}
}
