package pva

import (
	"math"
	"testing"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
)

// values has the fields of a message by their paths. Their types are int64, float64, string,
// []string and []float64.
type values map[string]any

// update is an update of a PV that a client received.
type update struct {
	ioid    uint32
	fields  values
	overrun proto.BitSet
}

// decode reads the changed fields and their values from a message.
func decode(t testing.TB, r *proto.Reader, typ *proto.Type) values {
	t.Helper()
	all, changed := values{}, r.BitSet(nil)
	for n := changed.Next(0); n >= 0; n = changed.Next(n + 1) {
		decodeField(t, r, typ, n, 0, "", all)
	}
	if r.Err() != nil {
		t.Fatalf("decoding %v: %v", changed, r.Err())
	}
	return all
}

// decodeField decodes the field with a number. first is the number of typ itself.
func decodeField(t testing.TB, r *proto.Reader, typ *proto.Type, number, first int, path string, all values) {
	if typ.Code != proto.Struct {
		all[path] = decodeLeaf(t, r, typ.Code)
		return
	}
	for i, m := range typ.Members {
		_, n := typ.Member(typ.Names[i])
		n += first
		name := typ.Names[i]
		if path != "" {
			name = path + "." + name
		}
		switch {
		case number == first:
			decodeField(t, r, m, n, n, name, all)
		case number >= n && number < n+m.Fields():
			decodeField(t, r, m, number, n, name, all)
		}
	}
}

func decodeLeaf(t testing.TB, r *proto.Reader, c proto.Code) any {
	switch c {
	case proto.Float64:
		return math.Float64frombits(r.Uint64())
	case proto.Int32:
		return int64(int32(r.Uint32()))
	case proto.Int64:
		return int64(r.Uint64())
	case proto.Bool:
		return int64(r.Uint8())
	case proto.String:
		return string(r.String())
	case proto.String | proto.Array:
		n, _ := r.Size()
		texts := []string{}
		for range n {
			texts = append(texts, string(r.String()))
		}
		return texts
	case proto.Float64 | proto.Array:
		n, _ := r.Size()
		numbers := make([]float64, n)
		for i := range numbers {
			numbers[i] = math.Float64frombits(r.Uint64())
		}
		return numbers
	}
	t.Fatalf("a field has the unexpected type %v", c)
	return nil
}

// update returns the next message, which must be an update of a MONITOR.
func (c *client) update(types ...*proto.Type) update {
	c.t.Helper()
	m := c.want(proto.CmdMonitor)
	return c.parse(m, types...)
}

// parse returns the update in a message. types has the types of the operations by their IDs.
func (c *client) parse(m *answer, types ...*proto.Type) update {
	c.t.Helper()
	a := proto.ParseAnswer(&m.Reader, proto.CmdMonitor)
	if a.Sub != 0 {
		c.t.Fatalf("got %+v, want an update", a)
	}
	typ := types[0]
	if len(types) > 1 {
		typ = types[a.IOID]
	}
	u := update{ioid: a.IOID, fields: decode(c.t, &m.Reader, typ)}
	u.overrun = m.BitSet(nil)
	if m.Err() != nil || m.Len() != 0 {
		c.t.Fatalf("parsing an update: %v, %d bytes are left", m.Err(), m.Len())
	}
	return u
}

// time returns the time of an update, in nanoseconds since 1970.
func (v values) time() int64 {
	return v["timeStamp.secondsPastEpoch"].(int64)*1e9 + v["timeStamp.nanoseconds"].(int64)
}

// expected returns the value of a PV in the form that decode returns, and its severity.
func expected(s *Server, p sim.PV, tick int64) (value any, severity int64) {
	v := s.set.Value(p, tick)
	severity = int64(v.Tag.Severity())
	switch p.Kind {
	case sim.String:
		return string(v.Bytes), severity
	case sim.Wave:
		numbers := make([]float64, waveElements)
		for i := range numbers {
			numbers[i] = sample.Float(sample.Float64, sample.Word(sample.Float64, v.Bytes, i))
		}
		return numbers, severity
	case sim.Enum, sim.Long:
		return int64(v.Word), severity
	}
	return sample.Float(sample.Float64, v.Word), severity
}

// value returns the field with the value.
func (v values) value() any {
	if index, ok := v["value.index"]; ok {
		return index
	}
	return v["value"]
}
