package names

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Register is the key of the register among the marks of PVs. No PV has this name, because it has a space.
const Register = "varve names"

// kind is the kind of the marks in the register. No PV has marks of this kind.
const kind sample.MarkKind = 15

// MaxNames is the maximum number of former names of a PV, and that of its aliases.
const MaxNames = 16

// Fact says which other names a PV has. Names are canonical. The caller must not change them.
type Fact struct {
	PV      string   `json:"pv"`
	Former  []string `json:"former,omitempty"`
	Aliases []string `json:"aliases,omitempty"`
}

// Empty reports whether the PV has no other names.
func (f *Fact) Empty() bool { return len(f.Former)+len(f.Aliases) == 0 }

// Same reports whether two facts have the same names.
func (f *Fact) Same(o *Fact) bool {
	return slices.Equal(f.Former, o.Former) && slices.Equal(f.Aliases, o.Aliases)
}

// mark returns the fact as a mark of the register.
func (f *Fact) mark(at int64, w store.WriterID) store.PVMark {
	text, err := json.Marshal(f)
	if err != nil {
		panic("BUG: encoding names as JSON: " + err.Error())
	}
	return store.PVMark{PV: Register, Writer: w, Mark: sample.Mark{Time: at, Kind: kind, Text: string(text)}}
}

// decode returns the fact of a mark of the register.
func decode(m *store.PVMark) (f Fact, err error) {
	if m.Kind != kind {
		return f, fmt.Errorf("a mark of kind %d", m.Kind)
	}
	if err := json.Unmarshal([]byte(m.Text), &f); err != nil {
		return f, err
	}
	if len(f.Former) > MaxNames || len(f.Aliases) > MaxNames {
		return f, errors.New("it has too many names")
	}
	for _, name := range slices.Concat([]string{f.PV}, f.Former, f.Aliases) {
		if err := pvname.Check(name); err != nil {
			return f, err
		}
	}
	return f, nil
}
