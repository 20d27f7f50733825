package store

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/test/testclock"
)

// sized is a store that has a size and records whether it is closed.
type sized struct {
	Store
	closed bool
}

func (s *sized) Size(context.Context) (int64, error) { return 42, nil }

func (s *sized) Channel(context.Context, string) (Channel, bool, error) {
	return Channel{PV: "A"}, true, nil
}

func (s *sized) Close() error { s.closed = true; return nil }

func TestPendingOpensWhenItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened, away := &sized{}, errors.New("10.0.0.7: connection refused")
		begun, tries := time.Now(), []time.Duration{}
		p := OpenLater(func(context.Context) (Store, error) {
			tries = append(tries, time.Since(begun))
			if time.Since(begun) < time.Minute {
				return nil, away
			}
			return opened, nil
		}, func(err error) string {
			if !errors.Is(err, away) {
				t.Errorf("explain was called with the error %v", err)
			}
			return "StorageAway: nobody answers"
		})
		testclock.Advance(30 * time.Second)
		if p.State() != "StorageAway: nobody answers" {
			t.Errorf("the state is %q", p.State())
		}
		if _, err := p.Size(t.Context()); !errors.Is(err, ErrNotOpen) || !strings.HasSuffix(err.Error(), p.State()) {
			t.Errorf("a call before the store is open returns %v", err)
		}
		for _, err := range p.Channels(t.Context()) {
			if !errors.Is(err, ErrNotOpen) {
				t.Errorf("a sequence before the store is open yields the error %v", err)
			}
		}
		testclock.Advance(time.Minute)
		for i, at := range tries[1:] {
			if pause := at - tries[i]; pause > longestPause*4/3 || pause < firstPause*2/3 {
				t.Errorf("the delay before attempt %[2]d is %[1]v", pause, i+1)
			}
		}
		if n := len(tries); n < 12 || n > 40 {
			t.Errorf("%d attempts in a minute", n)
		}
		if n, err := p.Size(t.Context()); n != 42 || err != nil || p.State() != "" {
			t.Errorf("the open store has size %d, %v and state %q", n, err, p.State())
		}
		if c, found, err := p.Channel(t.Context(), "A"); c.PV != "A" || !found || err != nil {
			t.Errorf("the open store has channel %v, %v, %v", c, found, err)
		}
		if err := p.Close(); err != nil || !opened.closed {
			t.Errorf("Close returns %v; the store is closed: %v", err, opened.closed)
		}
	})
}

func TestPendingIsClosedBeforeItIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := OpenLater(func(ctx context.Context) (Store, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, error.Error)
		testclock.Advance(time.Second)
		if !strings.HasPrefix(p.State(), "Opening: ") {
			t.Errorf("the state is %q", p.State())
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestPendingRefusesEveryCallUntilItIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := OpenLater(func(ctx context.Context) (Store, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, error.Error)
		defer p.Close()
		for m := range reflect.TypeFor[Store]().Methods() {
			if m.Name == "Close" {
				continue
			}
			method := reflect.ValueOf(p).MethodByName(m.Name)
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for i := 1; i < method.Type().NumIn() && !(method.Type().IsVariadic() && i == method.Type().NumIn()-1); i++ {
				args = append(args, reflect.Zero(method.Type().In(i)))
			}
			results := method.Call(args)
			err, _ := results[len(results)-1].Interface().(error)
			if results[0].Kind() == reflect.Func {
				for _, last := range results[0].Seq2() {
					err, _ = last.Interface().(error)
				}
			}
			if !errors.Is(err, ErrNotOpen) {
				t.Errorf("%s returns %v", m.Name, err)
			}
		}
	})
}
