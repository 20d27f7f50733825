package visible

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
)

// TestEveryMethodWithANameHides makes sure that a new method of the store is hidden, too: those that
// take the name of a PV, and Channels, must be methods of the wrapper itself.
func TestEveryMethodWithANameHides(t *testing.T) {
	wrapper, all := reflect.TypeFor[*hidingStore](), reflect.TypeFor[store.Store]()
	embedded := reflect.TypeFor[store.Store]()
	if f := wrapper.Elem().Field(0); f.Type != embedded || wrapper.Elem().NumField() != 1 {
		t.Fatal("the wrapper does not embed a store")
	}
	// A nil store inside the wrapper panics when a method is not hidden, or hides a name at once.
	asked := &recorder{}
	s := reflect.ValueOf(&hidingStore{asked})
	checked := 0
	for i := range all.NumMethod() {
		m := all.Method(i)
		in := m.Type
		if in.NumIn() < 2 || in.In(1).Kind() != reflect.String {
			continue
		}
		if !slices.Contains(recorded, m.Name) {
			t.Errorf("the method %s of the store takes a name, and this test does not know it: hide it in hidingStore", m.Name)
			continue
		}
		args := []reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf("SECRET:A")}
		for j := 2; j < in.NumIn(); j++ {
			args = append(args, reflect.Zero(in.In(j)))
		}
		asked.name = ""
		s.MethodByName(m.Name).Call(args)
		if asked.name != "SECRET:A"+suffix {
			t.Errorf("%s asks the store for %q", m.Name, asked.name)
		}
		checked++
	}
	if checked != len(recorded) {
		t.Errorf("%d methods take a name, and the test knows %d", checked, len(recorded))
	}
}

// TestErrorsDoNotShowTheNameThatIsAsked checks the text of an error about a hidden PV.
func TestErrorsDoNotShowTheNameThatIsAsked(t *testing.T) {
	err := hide(query.ErrUnknownPV, true)
	if err.Error() != query.ErrUnknownPV.Error() {
		t.Errorf("the error is %q", err)
	}
	s := &hidingStore{&recorder{failing: true}}
	if _, _, err := s.Channel(context.Background(), "SECRET:A"); err == nil || err.Error() != "reading SECRET:A" {
		t.Errorf("the error is %q", err)
	}
	for _, err := range s.Marks(context.Background(), "SECRET:A", 0, 1) {
		if err == nil || err.Error() != "reading SECRET:A" {
			t.Errorf("the error is %q", err)
		}
	}
}
