package pva

import (
	"strings"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// role is the purpose of a field. A field may have several.
type role uint8

const (
	roleValue role = 1 << iota
	roleAlarm
	roleTime
	roleMeta // its changes are delivered as Metadata
)

// leaf is a field that is not a structure.
type leaf struct {
	typ *proto.Type
	// at is the place of the field in a record: the offset of a number in record.numbers, or
	// the index of any other field in record.others. width is the size of a number in bytes,
	// and 0 for any other field.
	at    uint32
	width uint8
	role  role // 0 if records do not keep the field
}

// node is a field with a number in a BitSet: a leaf, or a structure. Its leaves have the
// indices from first up to, but not including, end. next is the first number after its
// members.
type node struct{ first, end, next uint32 }

// layout describes how values of a wire type become samples. All channels of a circuit
// with the same type and options share one.
type layout struct {
	key   string // key in circuit.layouts
	users int

	typ      sample.Type // Unknown if there is nothing to store
	typeName string
	count    int // number of elements if the type defines it; otherwise 0
	form     form
	// kept is the encoded type of the stored structure: the start of a sample.Struct.
	kept []byte
	anys bool // values contain types, which the sender may name by number

	valueCode proto.Code // of the leaf with the value

	nodes  []node
	leaves []leaf
	bytes  int // size of the numbers of a record
	others int // number of the other fields of a record

	// known has the index of the leaf with each meaning, or the constant none.
	known [numMeanings]int
}

// none stands for the index of a leaf that a type does not have.
const none = -1

// form defines how a record becomes the value of a sample.
type form uint8

const (
	formWord  form = iota // one number
	formEnum              // the number of a state
	formText              // a string
	formElems             // an array of numbers
	formTexts             // an array of strings
	formWhole             // all kept leaves, one after another
)

// newLayout returns the layout of a type for the wanted fields.
func newLayout(t *proto.Type, wanted *selection) *layout {
	l := &layout{typeName: nameOf(t)}
	for m := range l.known {
		l.known[m] = none
	}
	kept := wanted.prune(t)
	if kept == nil {
		return l
	}
	l.classify(kept)
	if l.form == formWhole {
		l.kept = proto.AppendType(nil, kept, proto.LittleEndian)
	}
	l.addFields(t, "", wanted)
	if l.form != formWhole && l.known[theValue] == none {
		l.typ = sample.Unknown // the type contradicts itself
	}
	l.assignPlaces()
	return l
}

// nameOf returns a readable name of a type.
func nameOf(t *proto.Type) string {
	switch {
	case t == nil:
		return "null"
	case t.ID != "":
		return t.ID
	}
	return t.Code.String()
}

// sampleTypes maps type codes of elements to types of samples.
var sampleTypes = map[proto.Code]sample.Type{
	proto.Bool: sample.Bool, proto.Int8: sample.Int8, proto.Int16: sample.Int16, proto.Int32: sample.Int32,
	proto.Int64: sample.Int64, proto.UInt8: sample.Uint8, proto.UInt16: sample.Uint16, proto.UInt32: sample.Uint32,
	proto.UInt64: sample.Uint64, proto.Float32: sample.Float32, proto.Float64: sample.Float64, proto.String: sample.String,
	proto.BoundedString: sample.String,
}

// around has the members of a normative type that are not a part of its value.
var around = map[string]bool{
	"value": true, "descriptor": true, "alarm": true, "timeStamp": true, "display": true, "control": true, "valueAlarm": true,
}

// plainValue reports whether the member named value is the whole value of a structure.
func plainValue(t *proto.Type) bool {
	for _, id := range []string{"epics:nt/NTScalar:", "epics:nt/NTScalarArray:", "epics:nt/NTEnum:"} {
		if strings.HasPrefix(t.ID, id) {
			return true
		}
	}
	for _, name := range t.Names {
		if !around[name] {
			return false
		}
	}
	return true
}

// classify sets the type and form of the samples of a type.
func (l *layout) classify(t *proto.Type) {
	l.typ, l.form, l.count = sample.Struct, formWhole, 1
	v := t
	if t.Code == proto.Struct {
		if v, _ = t.Member("value"); v == nil || !plainValue(t) {
			return
		}
	}
	if isEnum(v) {
		index, _ := v.Member("index")
		l.typ, l.form, l.valueCode = sample.Enum, formEnum, index.Code
		return
	}
	l.valueCode = v.Code
	elem := sampleTypes[v.Code.Elem()]
	switch {
	case elem == sample.Unknown:
	case v.Code.Shape() == 0 && elem == sample.String:
		l.typ, l.form = elem, formText
	case v.Code.Shape() == 0:
		l.typ, l.form = elem, formWord
	default:
		l.typ, l.form, l.count = elem.Array(), formElems, v.Bound
		if elem == sample.String {
			l.form = formTexts
		}
	}
}

// isEnum reports whether t is an enumeration: a structure with an index and the names of the
// states.
func isEnum(t *proto.Type) bool {
	if t.Code != proto.Struct {
		return false
	}
	index, _ := t.Member("index")
	choices, _ := t.Member("choices")
	return index != nil && isInteger(index.Code) && choices != nil && isTexts(choices.Code)
}

// addFields assigns numbers to the fields of t, which is at path, and finds their roles.
// wanted is nil if none of the fields is selected.
func (l *layout) addFields(t *proto.Type, path string, wanted *selection) {
	n := len(l.nodes)
	l.nodes = append(l.nodes, node{first: uint32(len(l.leaves))})
	if t.Code == proto.Struct {
		for i, m := range t.Members {
			p := t.Names[i]
			if path != "" {
				p = path + "." + p
			}
			l.addFields(m, p, wanted.member(t.Names[i]))
		}
	} else {
		l.addLeaf(t, path, wanted != nil)
	}
	l.nodes[n].end, l.nodes[n].next = uint32(len(l.leaves)), uint32(len(l.nodes))
}

// addLeaf adds a leaf.
func (l *layout) addLeaf(t *proto.Type, path string, wanted bool) {
	i := len(l.leaves)
	lf := leaf{typ: t}
	if t.Code.Shape() == 0 {
		lf.width = uint8(t.Code.Width())
	}
	if wanted {
		if r := l.addMeaning(path, t, i); r != 0 || l.form == formWhole {
			lf.role = r
			if l.form == formWhole {
				lf.role |= roleValue
			}
		}
	}
	l.anys = l.anys || hasAny(t)
	l.leaves = append(l.leaves, lf)
}

// addMeaning records the meaning of a field, and returns the role of the field.
func (l *layout) addMeaning(path string, t *proto.Type, i int) role {
	f := meanings[path]
	switch {
	case path == l.form.path() || path == "" && l.form != formWhole:
		f = meaningOf{theValue, func(c proto.Code) bool { return c == l.valueCode }, roleValue}
	case f.role == 0 || f.meaning == theLabels && l.form != formEnum:
		return 0
	}
	if !f.is(t.Code) || l.known[f.meaning] != none { // a type may have two members of the same name
		return 0
	}
	l.known[f.meaning] = i
	return f.role
}

// path returns the path of the field that has the value, if the value is one field.
func (f form) path() string {
	switch f {
	case formWhole:
		return "-"
	case formEnum:
		return "value.index"
	}
	return "value"
}

// hasAny reports whether values of a type contain types.
func hasAny(t *proto.Type) bool {
	if t.Code.Elem() == proto.Any {
		return true
	}
	for _, m := range t.Members {
		if hasAny(m) {
			return true
		}
	}
	return false
}

// assignPlaces assigns places in a record to the leaves that records keep.
func (l *layout) assignPlaces() {
	for i := range l.leaves {
		switch lf := &l.leaves[i]; {
		case lf.role == 0:
		case lf.width > 0:
			lf.at = uint32(l.bytes)
			l.bytes += int(lf.width)
		default:
			lf.at = uint32(l.others)
			l.others++
		}
	}
}

// roles returns the roles of all fields in the field with a number.
func (l *layout) roles(number int) (r role) {
	n := &l.nodes[number]
	for i := n.first; i < n.end; i++ {
		r |= l.leaves[i].role
	}
	return r
}
