package query

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// away is an older archive that is away. It notes the names that it is asked for.
type away struct{ asked []string }

func (a *away) through() *Through {
	err := func(pv string) error {
		a.asked = append(a.asked, pv)
		text := "no " + pv + " at http://10.1.2.3/"
		return &OlderError{Err: errors.New(text), Text: text, Summary: "it cannot be reached", After: time.Second}
	}
	return &Through{
		Outside: func(_ context.Context, pv string) (Outside, error) { return Outside{}, err(pv) },
		Samples: func(_ context.Context, pv string, _, _ int64) iter.Seq2[*sample.Run, error] { return failing(err(pv)) },
		Names:   func(context.Context) ([]string, error) { return nil, err("") },
	}
}

// ways are the ways to read a PV.
func (a *archive) ways(r *Reader) map[string]func(pv string) error {
	ctx := a.t.Context()
	return map[string]func(pv string) error{
		"Read":         func(pv string) error { _, err := r.Read(ctx, pv, epoch, epoch+day, Options{}); return err },
		"Bins":         func(pv string) error { _, err := r.Bins(ctx, pv, epoch, epoch+day, 9, BinOptions{}); return err },
		"Count":        func(pv string) error { _, err := r.Count(ctx, pv, epoch, epoch+day, nil); return err },
		"Known":        func(pv string) error { _, err := r.Known(ctx, pv); return err },
		"Type":         func(pv string) error { _, err := r.Type(ctx, pv); return err },
		"Types":        func(pv string) error { _, err := r.Types(ctx, pv, epoch); return err },
		"Metadata":     func(pv string) error { _, _, err := r.Metadata(ctx, pv, epoch); return err },
		"ExpiredUntil": func(pv string) error { _, err := r.ExpiredUntil(ctx, pv); return err },
	}
}

// TestHiddenPVsFailAsUnknownOnesDo reads both while the older archive is away.
func TestHiddenPVsFailAsUnknownOnesDo(t *testing.T) {
	own, older := newArchive(t, 1), &away{}
	own.older = older.through()
	r := own.reader()
	r.Visible = func(_ context.Context, pv string) bool { return !strings.HasPrefix(pv, "HIDDEN") }
	for name, read := range own.ways(r) {
		older.asked = nil
		unknown, asked := read("UNKNOWN"), len(older.asked)
		hidden := read("HIDDEN")
		if (unknown == nil) != (hidden == nil) || unknown != nil && (unknown.Error() != hidden.Error() || !errors.Is(hidden, ErrUpstream)) {
			t.Errorf("%s: a hidden PV: %v; an unknown one: %v", name, hidden, unknown)
		}
		if len(older.asked) != 2*asked {
			t.Errorf("%s: the older archive is asked %d times for the unknown PV, then for %q", name, asked, older.asked[asked:])
		}
		for _, pv := range older.asked[asked:] {
			if pv == "HIDDEN" || !strings.HasPrefix(pv, "HIDDEN-") {
				t.Errorf("%s: the older archive is asked for %s", name, pv)
			}
		}
		_ = read("HIDDEN:" + strings.Repeat("x", pvname.MaxLen-len("HIDDEN:")))
		if last := older.asked[max(0, len(older.asked)-1):]; len(last) > 0 && len(last[0]) > pvname.MaxLen {
			t.Errorf("%s: the older archive is asked for a name of %d bytes", name, len(last[0]))
		}
		if unknown != nil && (strings.Contains(unknown.Error(), "10.1.2.3") || !strings.Contains(unknown.Error(), "it cannot be reached")) {
			t.Errorf("%s: the text is %q", name, unknown)
		}
	}
}

// TestReasonsAreForThoseWhoReadAll checks that a reader that hides no PVs gets the reason.
func TestReasonsAreForThoseWhoReadAll(t *testing.T) {
	own, older := newArchive(t, 1), &away{}
	own.older = older.through()
	_, err := own.reader().Read(t.Context(), "UNKNOWN", epoch, epoch+day, Options{})
	if err == nil || !strings.Contains(err.Error(), "no UNKNOWN at http://10.1.2.3/") {
		t.Errorf("the error is %v", err)
	}
}

// TestTypesAfterTheSeamAreKnownHere checks that the older archive is not asked for a type that a read does not need.
func TestTypesAfterTheSeamAreKnownHere(t *testing.T) {
	own, older := newArchive(t, 1), &away{}
	own.block(writer(1), store.Year.Of(epoch).In(store.Forever), typed{sample.Int32, sample.Sample{Time: epoch + day, Word: 7}})
	own.check(own.store.AddChannel(t.Context(), store.Channel{PV: testPV, Types: []sample.Type{sample.Int32}}))
	own.connect(writer(9), epoch+day)
	own.older = older.through()
	r := own.reader()
	for from, asked := range map[int64]int{epoch + 2*day: 0, epoch: 1} {
		older.asked = nil
		if types, err := r.Types(t.Context(), testPV, from); err != nil || len(types) != 1 || len(older.asked) != asked {
			t.Errorf("types %v, %v, after %d requests; want one type and %d requests", types, err, len(older.asked), asked)
		}
	}
}
