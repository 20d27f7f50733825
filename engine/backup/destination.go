package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"
)

// Destination holds objects: packs and manifests, by names such as packs/ab/abcd.pack.
type Destination interface {
	// Put stores an object, whole or not at all, and returns when it is durable. It replaces an object of this name.
	Put(ctx context.Context, name string, data []byte) error
	// Create is like Put, but it returns an error that wraps fs.ErrExist if there is an object of this name.
	Create(ctx context.Context, name string, data []byte) error
	// Get returns an object, or an error that wraps fs.ErrNotExist. It refuses an object of more than most bytes.
	Get(ctx context.Context, name string, most int64) ([]byte, error)
	// List yields the objects whose names begin with a prefix that ends with a slash, in any order.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Remove removes an object. It does nothing if there is none.
	Remove(ctx context.Context, name string) error
	// String says where the destination is.
	String() string
}

// Object is an object in a destination.
type Object struct {
	Name     string
	Bytes    int64
	Modified time.Time
}

// formatObject marks a destination as one for backups of Varve.
const formatObject = "varve-backups"

const formatText = manifestMagic + "s " + version + "\n"

var (
	// ErrNoDestination means that there are no backups at a place.
	ErrNoDestination = errors.New("there are no backups of Varve")
	// ErrRunning means that a backup is being made in the destination.
	ErrRunning = errors.New("a backup is being made")
)

// CheckDestination returns an error unless a destination has backups, or had some.
func CheckDestination(ctx context.Context, d Destination) error {
	text, err := d.Get(ctx, formatObject, 100)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w in %s", ErrNoDestination, d)
	case err != nil:
		return fmt.Errorf("reading %s in %s: %w", formatObject, d, err)
	case string(text) != formatText:
		return fmt.Errorf("the backups in %s have a format that this program does not know: %s has %.40q; use a later release", d, formatObject, text)
	}
	return nil
}

// prepare makes a destination one for backups. It refuses one that has other objects.
func prepare(ctx context.Context, d Destination) error {
	err := CheckDestination(ctx, d)
	if !errors.Is(err, ErrNoDestination) {
		return err
	}
	for o, err := range d.List(ctx, "/") {
		if err != nil {
			return fmt.Errorf("listing %s: %w", d, err)
		}
		return fmt.Errorf("%s has other files, such as %s: give an empty directory for backups, or a new one", d, o.Name)
	}
	if err := d.Create(ctx, formatObject, []byte(formatText)); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("preparing %s: %w", d, err)
	}
	return nil
}

const (
	// runningEvery is how often a backup that is being made says so.
	runningEvery = time.Minute
	// runningFor is how long it counts as being made after that.
	runningFor = 15 * time.Minute
)

// announce says that a backup is being made, until stop is called, so that nobody removes its packs. If the backup loses
// this protection because the destination fails for long, it ends.
func announce(ctx context.Context, d Destination, name string) (out context.Context, stop func(), err error) {
	object := runningPrefix + name
	say := func(ctx context.Context) error {
		return d.Put(ctx, object, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"))
	}
	if err := say(ctx); err != nil {
		return nil, nil, fmt.Errorf("writing %s: %w", object, err)
	}
	out, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(runningEvery)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-out.Done():
				return
			case <-tick.C:
			}
			if err := say(out); err == nil {
				last = time.Now()
			} else if time.Since(last) > runningFor/2 {
				cancel(fmt.Errorf("writing %s for %v: %w", object, runningFor/2, err))
				return
			}
		}
	}()
	return out, func() {
		cancel(nil)
		<-ended
		_ = d.Remove(context.WithoutCancel(ctx), object) // otherwise it ends after runningFor
	}, nil
}

// running returns an error that wraps ErrRunning if a backup is being made in the destination.
func running(ctx context.Context, d Destination, now time.Time) error {
	for o, err := range d.List(ctx, runningPrefix) {
		if err != nil {
			return fmt.Errorf("listing %s: %w", d, err)
		}
		if age := now.Sub(o.Modified); age < runningFor {
			return fmt.Errorf("%w in %s: %s was written %v ago; try again later", ErrRunning, d, o.Name, age.Round(time.Second))
		}
	}
	return nil
}
