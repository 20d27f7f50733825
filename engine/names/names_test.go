package names

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func openStore(t testing.TB) *pebble.Store {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// set sets the names of an engine, given as PV<FORMER,…@ALIAS,…, and waits until they are written. captured lists more PVs.
func set(t *testing.T, w *Writer, texts string, captured ...string) {
	t.Helper()
	named := map[string]Fact{}
	for text := range strings.FieldsSeq(texts) {
		text, aliases, _ := strings.Cut(text, "@")
		pv, former, _ := strings.Cut(text, "<")
		split := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }
		named[pv] = Fact{PV: pv, Former: split(former), Aliases: split(aliases)}
	}
	w.Set(named, func(pv string) bool { return slices.Contains(captured, pv) })
	if err := w.try(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// text returns all names of a view, sorted.
func text(t *testing.T, b *Book) string {
	t.Helper()
	v, err := b.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for f := range v.All() {
		all = append(all, fmt.Sprintf("%s<%s@%s", f.PV, strings.Join(f.Former, ","), strings.Join(f.Aliases, ",")))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestTheLatestFactCounts changes names by two engines whose clocks differ by an hour.
func TestTheLatestFactCounts(t *testing.T) {
	st := openStore(t)
	log := slog.New(slog.DiscardHandler)
	ahead := NewWriter(NewBook(st, nil), store.WriterID{1}, func() int64 { return 2 * 3600e9 }, log)
	behind := NewWriter(NewBook(st, nil), store.WriterID{2}, func() int64 { return 3600e9 }, log)
	reader := NewBook(st, nil)
	for _, step := range []struct {
		w            *Writer
		names, want  string
		alsoCaptured []string
	}{
		{ahead, "A<B@X C<D", "A<B@X C<D@", nil},
		{behind, "A<E", "A<E@ C<D@", nil},    // it does not capture C
		{ahead, "", "A<E@ C<D@", nil},        // nothing is captured any longer: the facts stay
		{behind, "", "C<D@", []string{"A"}},  // captured without names
		{ahead, "C<D A@Y", "A<@Y C<D@", nil}, // again
		{behind, "", "A<@Y C<D@", []string{"Z"}},
		{behind, "C<D A@Y", "A<@Y C<D@", nil}, // nothing to write
	} {
		set(t, step.w, step.names, step.alsoCaptured...)
		if got := text(t, reader); got != step.want {
			t.Errorf("after %q, the names are %q, want %q", step.names, got, step.want)
		}
		if got := text(t, NewBook(st, nil)); got != step.want {
			t.Errorf("after %q, a new reader has the names %q, want %q", step.names, got, step.want)
		}
	}
	if err := behind.Forget(t.Context(), []string{"C", "Z"}); err != nil {
		t.Fatal(err)
	}
	if got := text(t, reader); got != "A<@Y" {
		t.Errorf("after the deletion of C, the names are %q", got)
	}
}

func TestViewFollowsFormerNames(t *testing.T) {
	many := "M<"
	for i := range 16 {
		many += fmt.Sprintf("M%d,", i)
	}
	b := NewBook(openStore(t), nil)
	w := NewWriter(b, store.WriterID{1}, func() int64 { return 1 }, slog.New(slog.DiscardHandler))
	set(t, w, "C<B B<A,B0 X<Y Y<X P@ONE Q@ONE M0<N "+many)
	v, err := b.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for pv, want := range map[string]int{"C": 3, "B": 2, "A": 0, "X": 1, "Y": 1, "M": MaxNames} {
		if got := v.Former(pv); len(got) != want {
			t.Errorf("%s has the former names %v, want %d", pv, got, want)
		}
	}
	if pv, is := v.Target("ONE"); !is || pv != "Q" { // the later fact
		t.Errorf("the alias of two PVs is one of %s", pv)
	}
}

// TestACapturedAliasIsItsOwnPV removes a PV with aliases from its group, and captures one of the aliases as a PV. If the alias
// still led to the removed PV, nobody could read the samples of the new one.
func TestACapturedAliasIsItsOwnPV(t *testing.T) {
	st := openStore(t)
	w := NewWriter(NewBook(st, nil), store.WriterID{1}, func() int64 { return 1 }, slog.New(slog.DiscardHandler))
	set(t, w, "A<B@X,Y")
	set(t, w, "", "X")
	if got := text(t, NewBook(st, nil)); got != "A<B@Y" {
		t.Errorf("names are %q, want A<B@Y", got)
	}
	set(t, w, "", "Y")
	set(t, w, "A<B@Y") // Y is no channel of a group any longer
	if got := text(t, NewBook(st, nil)); got != "A<B@Y" {
		t.Errorf("names are %q, want A<B@Y", got)
	}
}

// TestWrittenNamesAreKept lets an engine with an older assignment write last. The names must become those of the newer one.
func TestWrittenNamesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := pebble.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.DiscardHandler)
		now := func() int64 { return time.Now().UnixNano() }
		w := NewWriter(NewBook(st, nil), store.WriterID{1}, now, log)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.Run(ctx, t.Context())
		}()
		w.Set(map[string]Fact{"A": {PV: "A", Former: []string{"B"}}}, func(pv string) bool { return pv == "A" })
		synctest.Wait()
		set(t, NewWriter(NewBook(st, nil), store.WriterID{2}, now, log), "", "A") // it captures A without names
		if got := text(t, NewBook(st, nil)); got != "" {
			t.Fatalf("names are %q", got)
		}
		time.Sleep(checkEvery)
		synctest.Wait()
		if got := text(t, NewBook(st, nil)); got != "A<B@" {
			t.Errorf("names are %q, want A<B@", got)
		}
		cancel()
		<-ended
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// delayed is a store that is away until the clock is late, while another engine writes.
type delayed struct {
	Store
	meanwhile func()
}

func (d *delayed) PutMarks(ctx context.Context, marks ...store.PVMark) error {
	if do := d.meanwhile; do != nil {
		d.meanwhile = nil
		do()
	}
	return d.Store.PutMarks(ctx, marks...)
}

// TestReadersFindLateFacts stores a fact whose time is long before that of a fact that readers know already.
func TestReadersFindLateFacts(t *testing.T) {
	st, log := openStore(t), slog.New(slog.DiscardHandler)
	reader, slow := NewBook(st, nil), &delayed{Store: st}
	slow.meanwhile = func() {
		set(t, NewWriter(NewBook(st, nil), store.WriterID{2}, func() int64 { return 10 * overlap }, log), "C<D")
		if got := text(t, reader); got != "C<D@" {
			t.Errorf("names are %q", got)
		}
	}
	set(t, NewWriter(NewBook(slow, nil), store.WriterID{1}, func() int64 { return overlap }, log), "A<B")
	if got := text(t, reader); got != "A<B@ C<D@" {
		t.Errorf("names are %q, want those of A, too", got)
	}
}

// TestUnreadableFactsAreIgnored puts marks into the register that no writer writes.
func TestUnreadableFactsAreIgnored(t *testing.T) {
	st := openStore(t)
	good := Fact{PV: "A", Former: []string{"B"}}
	marks := []store.PVMark{good.mark(1, store.WriterID{1})}
	long := `"` + strings.Join(strings.Split(strings.Repeat("N", 17), ""), `","`) + `"`
	for i, text := range []string{"", "{", "[]", `{"pv":""}`, `{"pv":"A B"}`, `{"pv":"A","former":["x y"]}`, `{"pv":"A","aliases":[` + long + `]}`} {
		marks = append(marks, store.PVMark{PV: Register, Mark: sample.Mark{Time: int64(i + 2), Kind: kind, Text: text}})
	}
	marks = append(marks, store.PVMark{PV: Register, Mark: sample.Mark{Time: 100, Kind: sample.Connected, Text: marks[0].Text}})
	if err := st.PutMarks(t.Context(), marks...); err != nil {
		t.Fatal(err)
	}
	if got := text(t, NewBook(st, nil)); got != "A<B@" {
		t.Errorf("names are %q", got)
	}
}

// failing is a store that may be away.
type failing struct {
	Store
	away atomic.Bool
}

func (f *failing) Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error] {
	if f.away.Load() {
		return func(yield func(store.PVMark, error) bool) { yield(store.PVMark{}, errors.New("the store is away")) }
	}
	return f.Store.Marks(ctx, pv, from, to)
}

// TestNamesThatCannotBeReadAreNoneToNobody makes sure that a read fails as long as the names are not known.
func TestNamesThatCannotBeReadAreNoneToNobody(t *testing.T) {
	st := &failing{Store: openStore(t)}
	set(t, NewWriter(NewBook(st, nil), store.WriterID{1}, func() int64 { return 1 }, slog.New(slog.DiscardHandler)), "A<B")
	st.away.Store(true)
	b := NewBook(st, nil)
	if v, err := b.View(t.Context()); err == nil {
		t.Fatalf("the view is %+v although the store is away", v)
	}
	st.away.Store(false)
	if v, err := b.View(t.Context()); err != nil || len(v.Former("A")) != 1 {
		t.Fatalf("the view is %+v, %v", v, err)
	}
	st.away.Store(true)
	if v, err := b.View(t.Context()); err != nil || len(v.Former("A")) != 1 {
		t.Errorf("known names are gone while the store is away: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"pv":"A","former":["B"],"aliases":["C"]}`)
	f.Add(`{"pv":"A"}`)
	f.Fuzz(func(t *testing.T, text string) {
		fact, err := decode(&store.PVMark{Mark: sample.Mark{Kind: kind, Text: text}})
		if err != nil {
			return
		}
		m := fact.mark(1, store.WriterID{})
		again, err := decode(&m)
		if err != nil || again.PV != fact.PV || !again.Same(&fact) {
			t.Errorf("%+v becomes %+v, %v", fact, again, err)
		}
	})
}
