package pva

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// record is the value of a channel after its latest update. It has only fields that the layout
// keeps: the numbers in little-endian order, and the other fields in canonical form. Another
// field is nil if the server has never sent it.
type record struct {
	numbers []byte
	others  [][]byte
}

func newRecord(l *layout) record {
	return record{numbers: make([]byte, l.bytes), others: make([][]byte, l.others)}
}

// number returns the bytes of a number field.
func (v *record) number(lf *leaf) []byte { return v.numbers[lf.at : lf.at+uint32(lf.width)] }

// appendOther appends a field that is not a number, in canonical form.
func (v *record) appendOther(dst []byte, lf *leaf) []byte {
	if b := v.others[lf.at]; b != nil {
		return append(dst, b...)
	}
	return proto.AppendZero(dst, lf.typ)
}

// word returns a number in the form of sample.Sample.Word.
func word(c proto.Code, b []byte) uint64 {
	switch c {
	case proto.Bool, proto.UInt8:
		return uint64(b[0])
	case proto.Int8:
		return uint64(int8(b[0]))
	case proto.Int16:
		return uint64(int16(binary.LittleEndian.Uint16(b)))
	case proto.UInt16:
		return uint64(binary.LittleEndian.Uint16(b))
	case proto.Int32:
		return uint64(int32(binary.LittleEndian.Uint32(b)))
	case proto.UInt32, proto.Float32:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// integer returns the number with a meaning, or 0 if there is no such field.
func (l *layout) integer(v *record, m meaning) int64 {
	i := l.known[m]
	if i == none {
		return 0
	}
	lf := &l.leaves[i]
	return int64(word(lf.typ.Code, v.number(lf)))
}

// text returns the string with a meaning, or an empty string if there is no such field. The
// result shares the memory of the record.
func (l *layout) text(v *record, m meaning) []byte {
	i := l.known[m]
	if i == none {
		return nil
	}
	r := proto.NewReader(v.others[l.leaves[i].at], proto.LittleEndian)
	return r.String()
}

// texts returns the elements of the array of strings with a meaning. They may share the memory
// of the record.
func (l *layout) texts(v *record, m meaning) [][]byte {
	lf := &l.leaves[l.known[m]]
	r := proto.NewReader(v.appendOther(nil, lf), proto.LittleEndian)
	n := lf.typ.Bound
	if lf.typ.Code.Shape() != proto.FixedArray {
		n, _ = r.Size()
	}
	var out [][]byte
	for ; n > 0 && r.Len() > 0; n-- {
		out = append(out, r.String())
	}
	return out
}

// sample sets s to the value, alarm and time of a record. If timed is false, the record has no
// time, and the caller must set the time of arrival and EngineClock. s.Bytes shares the memory
// of the record or of scratch. sample returns scratch, which may have grown.
func (l *layout) sample(s *sample.Sample, v *record, tag sample.Tag, scratch []byte) (grown []byte, timed bool) {
	s.Tag, s.Word, s.Bytes = tag, 0, nil
	s.Time, timed = l.time(v)
	if l.form == formWhole {
		scratch = l.appendWhole(append(scratch[:0], l.kept...), v)
		s.Bytes = scratch
		return scratch, timed
	}
	switch lf := &l.leaves[l.known[theValue]]; l.form {
	case formWord:
		s.Word = word(lf.typ.Code, v.number(lf))
	case formEnum:
		s.Word = uint64(uint16(word(lf.typ.Code, v.number(lf))))
	case formText:
		s.Bytes = l.text(v, theValue)
	case formElems:
		s.Bytes, scratch = l.elems(v, lf, scratch)
	case formTexts:
		scratch = scratch[:0]
		for _, t := range l.texts(v, theValue) {
			scratch = append(binary.AppendUvarint(scratch, uint64(len(t))), t...)
		}
		s.Bytes = scratch
	}
	return scratch, timed
}

// elems returns the elements of an array of numbers.
func (l *layout) elems(v *record, lf *leaf, scratch []byte) (elems, grown []byte) {
	b := v.others[lf.at]
	if b == nil {
		scratch = proto.AppendZero(scratch[:0], lf.typ)
		b = scratch
	}
	if lf.typ.Code.Shape() == proto.FixedArray {
		return b, scratch
	}
	r := proto.NewReader(b, proto.LittleEndian)
	r.Size()
	return b[len(b)-r.Len():], scratch
}

// appendWhole appends all leaves that the record keeps. The result is the structure in
// canonical form.
func (l *layout) appendWhole(dst []byte, v *record) []byte {
	for i := range l.leaves {
		switch lf := &l.leaves[i]; {
		case lf.role == 0:
		case lf.width > 0:
			dst = append(dst, v.number(lf)...)
		default:
			dst = v.appendOther(dst, lf)
		}
	}
	return dst
}

// time returns the time of a record in ns since 1970. ok is false if the record has no time,
// for example because the server never sets it.
func (l *layout) time(v *record) (ns int64, ok bool) {
	secs, nanos := l.integer(v, theSeconds), l.integer(v, theNanoseconds)
	const most = math.MaxInt64/1_000_000_000 - 10 // leaves room for nanoseconds of more than a second
	if secs == 0 && nanos == 0 || secs > most || secs < -most {
		return 0, false
	}
	return secs*1_000_000_000 + int64(int32(nanos)), true
}

// tag returns the alarm of a record. pvAccess has the severities of EPICS and UNDEFINED, which
// becomes INVALID. The status of pvAccess is only a class of EPICS statuses, but the message
// is usually the name of the exact EPICS status. Otherwise tag returns a typical status of the
// class.
func (l *layout) tag(v *record) sample.Tag {
	sev := sample.Severity(min(uint64(l.integer(v, theSeverity)), uint64(sample.Invalid)))
	if st, ok := statusNamed[string(l.text(v, theMessage))]; ok {
		return sample.MakeTag(sev, st)
	}
	class := uint64(l.integer(v, theStatus))
	if class >= uint64(len(statusOfClass)) {
		class = classUndefined
	}
	return sample.MakeTag(sev, statusOfClass[class])
}

// statusOfClass has the typical EPICS status of each class: NONE, DEVICE, DRIVER, RECORD, DB,
// CONF, UNDEFINED and CLIENT.
var statusOfClass = [...]uint16{
	0, statusRead, statusComm, statusSoft, statusDisable, statusBadSub, statusUDF, statusSoft,
}

const (
	statusRead, statusComm, statusSoft, statusBadSub, statusUDF, statusDisable = 1, 9, 15, 16, 17, 18

	classUndefined = 6
	numStatuses    = 22 // in alarm.h
)

// statusNamed maps the names of EPICS statuses, with and without _ALARM, to the statuses.
var statusNamed = func() map[string]uint16 {
	m := map[string]uint16{}
	for status := range uint16(numStatuses) {
		name := sample.MakeTag(0, status).StatusName()
		m[name], m[name+"_ALARM"] = status, status
	}
	return m
}()

// metadata returns the metadata in a record.
func (l *layout) metadata(v *record, host string) *sample.Metadata {
	m := &sample.Metadata{
		Units: string(l.text(v, theUnits)), Precision: int(l.integer(v, thePrecision)),
		Type: l.typ, Count: l.elements(v), Host: host,
	}
	var limits [numLimits]float64
	for k := range limits {
		limits[k] = math.NaN()
		if i := l.known[int(firstLimit)+k]; i != none {
			lf := &l.leaves[i]
			limits[k] = sample.Float(sampleTypes[lf.typ.Code], word(lf.typ.Code, v.number(lf)))
		}
	}
	m.SetLimits(limits)
	if l.known[theLabels] != none {
		for _, b := range l.texts(v, theLabels) {
			m.Labels = append(m.Labels, string(b))
		}
	}
	if text := strings.TrimSpace(string(l.text(v, theDescription))); text != "" {
		m.Properties = []sample.Property{{Name: "DESC", Value: text}}
	}
	return m
}

// elements returns the number of elements of a record's value.
func (l *layout) elements(v *record) int {
	if l.count > 0 || !l.typ.IsArray() {
		return max(l.count, 1)
	}
	r := proto.NewReader(v.others[l.leaves[l.known[theValue]].at], proto.LittleEndian)
	n, _ := r.Size()
	return n
}

// set reads a number of an update into the record. It reports whether metadata changed.
func (v *record) set(r *proto.Reader, lf *leaf) (changed bool) {
	b := r.Bytes(int(lf.width))
	if b == nil {
		return false
	}
	var now [8]byte
	if r.Order() == proto.BigEndian || lf.typ.Code == proto.Bool {
		b = now[:copy(now[:], b)]
		slices.Reverse(b)
		if lf.typ.Code == proto.Bool {
			b[0] = min(b[0], 1) // the canonical form
		}
	}
	to := v.number(lf)
	changed = lf.role&roleMeta != 0 && !bytes.Equal(to, b)
	copy(to, b)
	return changed
}
