package manifest

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Intervals of a watch.
const (
	// quietTime is how long there must be no events before files are read, so that writers
	// have finished.
	quietTime = 200 * time.Millisecond
	// maxDelay limits the delay of a read by further events.
	maxDelay = 2 * time.Second
	// readEvery is the time between reads without an event. Network file systems and links
	// into other directories send no events.
	readEvery = 10 * time.Second
)

// Watch reads path like Load, and again after every change, until ctx ends. It calls changed
// with the first result and with every different one, one call at a time. Groups survive
// errors: see the package comment.
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

// notifier decides when to read again.
type notifier struct {
	path    string
	watcher *fsnotify.Watcher // nil if the system has no watches left
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

// arm watches the directory, even if the directory was replaced. It ignores errors, because
// files are also read periodically.
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

// wait waits until it is time to read again, soon if requested. It returns false if ctx ends.
func (n *notifier) wait(ctx context.Context, soon bool) bool {
	defer n.arm()
	d := readEvery
	if soon {
		d = quietTime
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
				latest = time.Now().Add(maxDelay)
			}
			timer.Reset(min(quietTime, time.Until(latest)))
		}
	}
}
