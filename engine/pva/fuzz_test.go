package pva

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/pva/proto"
)

// fuzzTypes has the types of the channels of a fuzzed circuit.
var fuzzTypes = []*proto.Type{
	scalarType,
	proto.NewStruct("", "value", proto.Of(proto.Any), "list", proto.Of(proto.String|proto.Array)),
}

// FuzzCircuit passes bytes of a server to a circuit, once in one part and once in two parts.
// Nothing must panic, and the sinks must get the same calls and samples both times.
func FuzzCircuit(f *testing.F) {
	for _, order := range orders {
		s := &session{script: doubles("")}
		s.order = order
		events := s.update(0, []int{fieldValue, fieldNanos}, 8.0, 5)
		events = append(events, s.overrun(0, []int{fieldValue}, []int{2, 10}, 1, 2, "HIHI", 1.0, 2.0, "", "mA", 3)...)
		events = append(events, s.update(1, []int{1}, []byte{0xfd, 1, 1, byte(proto.UInt8), 42})...)
		f.Add(append(events, s.update(1, []int{0}, []byte{0xfe, 1, 1, 43}, []string{"a"})...), uint16(50))
		f.Add(slices.Concat(segment(s.update(0, []int{fieldAll}, scalar(8)...), 30)...), uint16(70))
		init := proto.Answer{IOID: 2, Sub: proto.SubInit}
		opened := proto.AppendCreated(nil, &proto.Created{CID: 2, SID: 5}, s.flags())
		opened = proto.AppendInitAnswer(opened, proto.CmdMonitor, init, proto.Status{}, fuzzTypes[1], s.flags())
		f.Add(append(opened, s.update(2, []int{0}, []byte{0xff}, []string{"b"})...), uint16(20))
		refused := proto.AppendCreated(nil, &proto.Created{CID: 2, Status: proto.Status{Kind: proto.Error, Message: "no"}}, s.flags())
		f.Add(append(refused, proto.AppendDestroyChannel(nil, 100, 0, s.flags())...), uint16(16))
		huge := proto.AppendHeader(nil, proto.Header{Version: 2, Flags: s.flags(), Command: proto.CmdMonitor, Size: 1 << 30})
		f.Add(append(huge, 0, 0, 0, 0, 0, 1, 2, 3), uint16(9))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		at := int(cut) % (len(b) + 1)
		whole, parts := &recorder{}, &recorder{}
		errWhole, errParts := feed(t, whole, b), feed(t, parts, b[:at], b[at:])
		if errWhole != nil || errParts != nil {
			return // the circuit ends, possibly one part earlier
		}
		if diff := cmp.Diff(whole.Log, parts.Log); diff != "" || len(whole.Samples) != len(parts.Samples) {
			t.Errorf("got %d and %d samples, calls (-whole +parts):\n%s", len(whole.Samples), len(parts.Samples), diff)
		}
	})
}

// feed passes parts to a new circuit, like consecutive reads. The circuit has two open
// channels and one that is being created.
func feed(t *testing.T, r *recorder, parts ...[]byte) error {
	c := offline(t)
	c.openChannel(r, scalarType, scalar(7))
	c.openChannel(r, fuzzTypes[1], []any{[]byte{0xff}, []string{"x"}})
	c.addChannel(r)
	var rest []byte
	for _, p := range parts {
		rest = slices.Concat(rest, p)
		used, need, _, err := c.batch(rest)
		if err != nil {
			return err
		}
		if used < len(rest) && need <= len(rest)-used {
			t.Fatalf("the circuit used %d of %d bytes and needs %d more", used, len(rest), need)
		}
		rest = rest[used:]
	}
	return nil
}
