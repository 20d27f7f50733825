package agent

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/store"
)

// levelled is an archive whose format level changes, and which can be away.
type levelled struct {
	store.Format
	mu    sync.Mutex
	level store.FormatLevel
	away  bool
	reads int
}

func (l *levelled) set(level store.FormatLevel, away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.level, l.away = level, away
}

func (l *levelled) FormatLevel(context.Context) (store.FormatLevel, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.away {
		return 0, errors.New("Cassandra is away")
	}
	return l.level, nil
}

// TestTheReportHasTheFormatLevelOfTheArchive follows an archive from an outage until it is finalized.
func TestTheReportHasTheFormatLevelOfTheArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &levelled{}
		st.set(5, true)
		a := reporting(channels{})
		a.cfg.Store = st
		ctx, end := context.WithCancel(t.Context())
		defer end()
		done := make(chan struct{})
		go func() { a.keepFormat(ctx); close(done) }()
		reports := func(level int) {
			t.Helper()
			time.Sleep(formatEvery + time.Second)
			synctest.Wait()
			if f := a.Report().Format; f == nil || f.Archive != level || f.Latest != int(store.LatestFormat) {
				t.Errorf("the report has %+v, want level %d", f, level)
			}
		}
		reports(0)
		st.set(5, false)
		reports(5)
		st.set(5, true)
		reports(5)
		st.set(store.LatestFormat, false)
		reports(int(store.LatestFormat))
		<-done
		if n := st.reads; n > 8 {
			t.Errorf("the level was read %d times", n)
		}
	})
}
