package pebble

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
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

// damaged reports that a read found damage in a sorted file. The read returns an error. Without this method,
// Pebble would call Fatalf: one damaged byte would end the process each time that it is read.
func (l logger) damaged(info pebble.DataCorruptionInfo) {
	l.log.Error("a file of the archive is damaged; reads of the rows in the damaged part fail", "file", info.Path, "err", info.Details)
}

// Fatalf implements pebble.Logger. Pebble calls it when it cannot continue, for example when
// it cannot write the WAL. Fatalf ends the process, because Pebble requires that it does not
// return. Acknowledged rows are on disk and survive a restart.
func (l logger) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	panic("pebble cannot continue: " + fmt.Sprintf(format, args...))
}
