package pebble

import (
	"fmt"
	"log/slog"
)

// logger writes Pebble's messages to the log. Pebble reports every file that it writes, so
// these messages have the level debug.
type logger struct{ log *slog.Logger }

// Infof implements pebble.Logger.
func (l logger) Infof(format string, args ...any) {
	l.log.Debug("pebble", "message", fmt.Sprintf(format, args...))
}

// Errorf implements pebble.Logger.
func (l logger) Errorf(format string, args ...any) {
	l.log.Error("pebble reports an error", "message", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger. Pebble calls it when it cannot continue, for example when
// it cannot write the WAL. Fatalf ends the process, because Pebble requires that it does not
// return. Acknowledged rows are on disk and survive a restart.
func (l logger) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	panic("pebble cannot continue: " + fmt.Sprintf(format, args...))
}
