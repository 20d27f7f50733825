package pebble

import (
	"fmt"
	"log/slog"
)

// logger passes on what Pebble says. It talks of every file it makes, which is
// for debugging.
type logger struct{ log *slog.Logger }

// Infof implements pebble.Logger.
func (l logger) Infof(format string, args ...any) {
	l.log.Debug("pebble", "message", fmt.Sprintf(format, args...))
}

// Errorf implements pebble.Logger.
func (l logger) Errorf(format string, args ...any) {
	l.log.Error("pebble reports an error", "message", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger. Pebble calls it when it can not go on, as when
// the WAL can not be written, and it must not return: what was acknowledged is on
// disk, and is there after a restart.
func (l logger) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	panic("pebble can not go on: " + fmt.Sprintf(format, args...))
}
