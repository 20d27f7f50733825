package pva

import (
	"encoding/binary"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
)

// headSize is the number of bytes of a MONITOR before the changed fields.
const headSize = proto.HeaderSize + 4 + 1

// shape is the structure that a client receives for PVs of a kind when it requests some of the fields.
// It belongs to one session.
type shape struct {
	layout *layout
	mask   proto.BitSet
	// quiet means that there are no updates, because no requested field ever changes. steady
	// means that there is an update in every turn, because a requested field always changes.
	quiet, steady bool
	// templates has the templates by form and severity. They are created when they are needed.
	// The form plain has only one template, because its messages have no severity.
	templates [whole + 1][sample.Invalid]*template
}

// template is a MONITOR message of a shape, without the parts that differ between messages.
type template struct {
	b       []byte
	changed []byte // the encoded set of fields in b
	empty   bool   // there are no such fields
	// These are the offsets of the fields in b, or 0 for a field that was not requested.
	value, seconds, nanoseconds int
	width                       int   // size of the value in b; 0 if append inserts the value
	at                          int64 // the time in b, in nanoseconds since 1970
}

func newShape(l *layout, mask proto.BitSet) *shape {
	s := &shape{layout: l, mask: mask, quiet: true}
	for _, f := range l.leaves {
		if mask.Has(f.number) {
			s.quiet = s.quiet && !alarmed.has(f.role)
			s.steady = s.steady || plain.has(f.role)
		}
	}
	return s
}

// template returns the message of a form, for an alarm and a time.
func (s *shape) template(f form, tag sample.Tag, unixNanos int64) *template {
	sev := tag.Severity()
	if f == plain {
		sev = sample.NoAlarm
	}
	t := s.templates[f][sev]
	if t == nil {
		t = s.newTemplate(f, tag)
		s.templates[f][sev] = t
	}
	if t.at != unixNanos {
		t.setTime(unixNanos)
	}
	return t
}

// newTemplate creates the message of a form. A kind has at most one alarm for each severity.
func (s *shape) newTemplate(f form, tag sample.Tag) *template {
	t := &template{at: -1}
	var changed proto.BitSet
	for _, l := range s.layout.leaves {
		if s.mask.Has(l.number) && f.has(l.role) {
			changed.Add(l.number)
		}
	}
	t.empty = changed.Empty()
	if f == whole && s.layout.all(s.mask) {
		changed = proto.BitSet{1} // stands for the whole structure
	}
	t.changed = proto.AppendBitSet(nil, changed, proto.LittleEndian)
	t.b = proto.BeginAnswer(nil, proto.CmdMonitor, proto.Answer{}, fromServer)
	t.b = append(t.b, t.changed...)
	for _, l := range s.layout.leaves {
		if s.mask.Has(l.number) && f.has(l.role) {
			t.add(s.layout, &l, tag)
		}
	}
	t.b = proto.AppendBitSet(t.b, nil, proto.LittleEndian) // no field is overrun
	t.b = proto.End(t.b, 0)
	return t
}

// add appends a field.
func (t *template) add(l *layout, f *leaf, tag sample.Tag) {
	switch f.role {
	case constant:
		t.b = append(t.b, f.bytes...)
	case value:
		t.b = append(t.b, l.prefix...)
		t.value, t.width = len(t.b), l.width
		t.b = append(t.b, make([]byte, l.width)...)
	case severity:
		t.b = appendInt(t.b, int(tag.Severity()))
	case status:
		t.b = appendInt(t.b, alarmStatus(tag))
	case message:
		t.b = proto.AppendString(t.b, alarmMessage(tag), proto.LittleEndian)
	case seconds:
		t.seconds = len(t.b)
		t.b = append(t.b, make([]byte, 8)...)
	case nanoseconds:
		t.nanoseconds = len(t.b)
		t.b = append(t.b, make([]byte, 4)...)
	case userTag:
		t.b = appendInt(t.b, 0)
	}
}

// These are values of the alarm status of pvAccess (alarm_t), which names the layer of the
// cause.
const (
	noStatus     = 0
	deviceStatus = 1
)

// alarmStatus returns the pvAccess status of an alarm. Alarms of simulated PVs concern their
// values.
func alarmStatus(tag sample.Tag) int {
	if tag.Severity() == 0 {
		return noStatus
	}
	return deviceStatus
}

// alarmMessage returns the text of an alarm. As in QSRV, it is the name of the status.
func alarmMessage(tag sample.Tag) string {
	if tag.Severity() == 0 {
		return ""
	}
	return tag.StatusName()
}

func (t *template) setTime(unixNanos int64) {
	t.at = unixNanos
	if t.seconds != 0 {
		binary.LittleEndian.PutUint64(t.b[t.seconds:], uint64(unixNanos/1e9))
	}
	if t.nanoseconds != 0 {
		binary.LittleEndian.PutUint32(t.b[t.nanoseconds:], uint32(unixNanos%1e9))
	}
}

// append appends the message with a PV's value at a tick. word is the value if it is a number.
func (t *template) append(dst []byte, ioid uint32, set *sim.Set, p sim.PV, tick int64, word uint64) []byte {
	start := len(dst)
	if t.value != 0 && t.width == 0 {
		dst = append(dst, t.b[:t.value]...)
		dst = appendVariable(dst, set, p, tick)
		dst = proto.End(append(dst, t.b[t.value:]...), start)
	} else {
		dst = append(dst, t.b...)
	}
	m := dst[start:]
	binary.LittleEndian.PutUint32(m[proto.HeaderSize:], ioid)
	switch t.width {
	case 8:
		binary.LittleEndian.PutUint64(m[t.value:], word)
	case 4:
		binary.LittleEndian.PutUint32(m[t.value:], uint32(word))
	}
	return dst
}

// appendVariable appends a value whose size varies, without the template's prefix.
func appendVariable(dst []byte, set *sim.Set, p sim.PV, tick int64) []byte {
	if p.Kind == sim.Wave {
		return p.AppendWave(dst, tick, set.Elements(sim.Wave))
	}
	start := len(dst)
	dst = p.AppendText(append(dst, 0), tick)
	dst[start] = byte(len(dst) - start - 1) // texts are short
	return dst
}

// overrun marks all fields as overrun in the message at offset start of dst, which was created
// from t. The fields have changed more than once since the last message.
func (t *template) overrun(dst []byte, start int) []byte {
	dst = append(dst[:len(dst)-1], t.changed...)
	return proto.End(dst, start)
}

// sampleOf returns the value and the alarm of a PV at a tick. They are 0 if the value is not a
// number.
func sampleOf(p sim.PV, tick int64) (word uint64, tag sample.Tag) {
	if p.Kind == sim.String || p.Kind == sim.Wave {
		return 0, 0
	}
	return p.Number(tick)
}
