package cql

import (
	"log/slog"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// logger forwards the driver's messages. The driver's warnings report that nodes go down and
// come up. The store's errors and metrics report this too.
type logger struct{ log *slog.Logger }

// Error implements gocql.StructuredLogger.
func (l logger) Error(msg string, fields ...gocql.LogField) {
	l.log.Warn("the Cassandra driver reports an error", attributes(msg, fields)...)
}

// Warning implements gocql.StructuredLogger.
func (l logger) Warning(msg string, fields ...gocql.LogField) {
	l.log.Info("the Cassandra driver warns", attributes(msg, fields)...)
}

// Info implements gocql.StructuredLogger.
func (l logger) Info(msg string, fields ...gocql.LogField) {
	l.log.Debug("the Cassandra driver reports", attributes(msg, fields)...)
}

// Debug implements gocql.StructuredLogger.
func (l logger) Debug(string, ...gocql.LogField) {}

func attributes(msg string, fields []gocql.LogField) []any {
	out := []any{slog.String("message", msg)}
	for _, f := range fields {
		out = append(out, slog.String(f.Name, f.Value.String()))
	}
	return out
}
