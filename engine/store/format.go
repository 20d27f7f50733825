package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// ErrFormat means that the format level of an archive is not one at which the program runs.
var ErrFormat = errors.New("this program cannot use the archive at its format level")

// FormatLevel is the format level of an archive: it says which kinds of rows the archive may contain. A
// program runs at the level of the archive, even if it knows higher ones, so that the former
// release can still read the archive. Finalize raises the level.
type FormatLevel int

// Formats are the format levels at which a program runs. The zero value means those of this program.
type Formats struct{ Oldest, Latest FormatLevel }

// OrDefault returns the levels with defaults for those that are 0.
func (f Formats) OrDefault() Formats {
	return Formats{cmp.Or(f.Oldest, OldestFormat), cmp.Or(f.Latest, LatestFormat)}
}

// Check returns an error that wraps ErrFormat unless a program with these levels runs at a level.
func (f Formats) Check(level FormatLevel) error {
	var advice string
	switch {
	case level > f.Latest:
		advice = "use the release that finalized the archive, or a later one"
	case level < f.Oldest:
		advice = "first run a release between that of the archive and this one, and finalize the archive with it"
	default:
		return nil
	}
	return fmt.Errorf("%w: the archive has format level %d, and this program knows %v; %s", ErrFormat, level, f, advice)
}

// String returns the levels for messages.
func (f Formats) String() string {
	if f.Oldest == f.Latest {
		return fmt.Sprintf("level %d", f.Latest)
	}
	return fmt.Sprintf("levels %d to %d", f.Oldest, f.Latest)
}

// Format is the format level of an archive.
type Format interface {
	// FormatLevel returns the level of the archive now. Another process can raise it.
	FormatLevel(ctx context.Context) (FormatLevel, error)
	// Finalize raises the level to the latest one that this program knows, and returns it.
	// Programs that do not know that level then refuse the archive. Finalize must only be called
	// once no such program uses the archive.
	Finalize(ctx context.Context) (FormatLevel, error)
}
