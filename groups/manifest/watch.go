package manifest

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Times of a watch.
const (
	// settle is how long nothing must happen before files are read: whoever
	// writes is done then.
	settle = 200 * time.Millisecond
	// maxSettle bounds it.
	maxSettle = 2 * time.Second
	// lookEvery is the time between reads without an event. Network file
	// systems and links into other directories tell nothing.
	lookEvery = 10 * time.Second
)

// Watch reads path as Load does, and again after every change, until ctx is
// done. It calls changed with the first result and with every other one, one
// at a time. Groups stay through errors: see the package.
func Watch(ctx context.Context, path string, changed func(Result)) {
	r := newReader(path)
	n := newNotifier(r.path)
	defer n.close()
	last, again := r.read()
	changed(last)
	for n.wait(ctx, again) {
		var next Result
		if next, again = r.read(); !next.Equal(last) {
			last = next
			changed(next)
		}
	}
}

// notifier says when to read again.
type notifier struct {
	path    string
	watcher *fsnotify.Watcher // nil if the system has none left
	events  <-chan fsnotify.Event
	errors  <-chan error
}

func newNotifier(path string) *notifier {
	n := &notifier{path: path}
	if w, err := fsnotify.NewWatcher(); err == nil {
		n.watcher, n.events, n.errors = w, w.Events, w.Errors
	}
	n.arm()
	return n
}

// arm watches the directory, also one that took the place of another. Without a
// watch the look now and then remains, so errors need no more.
func (n *notifier) arm() {
	if n.watcher == nil {
		return
	}
	dir := n.path
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	_ = n.watcher.Add(dir)
}

func (n *notifier) close() {
	if n.watcher != nil {
		_ = n.watcher.Close()
	}
}

// wait returns when it is time to read, soon if asked so; false if ctx is done.
func (n *notifier) wait(ctx context.Context, soon bool) bool {
	defer n.arm()
	d := lookEvery
	if soon {
		d = settle
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	var latest time.Time // when to read at the latest; zero before the first event
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-n.errors: // events were lost
			return true
		case <-n.events:
			if latest.IsZero() {
				latest = time.Now().Add(maxSettle)
			}
			timer.Reset(min(settle, time.Until(latest)))
		}
	}
}
