package cassandra

import (
	"errors"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// maxRetries is how many times the driver repeats a request. Callers repeat writes anyway, so the
// driver repeats a request only after errors that may not occur on another replica.
const maxRetries = 2

// retries is the driver's retry policy. All statements of this package are idempotent.
type retries struct{}

// Attempt implements gocql.RetryPolicy.
func (retries) Attempt(q gocql.RetryableQuery) bool {
	return q.Attempts() <= maxRetries && q.Context().Err() == nil
}

// GetRetryType implements gocql.RetryPolicy.
func (retries) GetRetryType(err error) gocql.RetryType {
	var refused gocql.RequestError
	if !errors.As(err, &refused) {
		return gocql.RetryNextHost // the connection broke, or no node answered
	}
	switch refused.Code() {
	case gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping, gocql.ErrCodeServer,
		gocql.ErrCodeReadTimeout, gocql.ErrCodeWriteTimeout, gocql.ErrCodeReadFailure, gocql.ErrCodeWriteFailure:
		return gocql.RetryNextHost
	}
	return gocql.Rethrow // another node would refuse it too
}
