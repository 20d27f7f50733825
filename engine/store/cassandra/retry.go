package cassandra

import (
	"errors"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// maxRetries is how often a request is tried again. The caller repeats a write
// anyway, so this is only for what another replica can answer.
const maxRetries = 2

// retries is the driver's policy. All our statements are idempotent.
type retries struct{}

// Attempt implements gocql.RetryPolicy.
func (retries) Attempt(q gocql.RetryableQuery) bool {
	return q.Attempts() <= maxRetries && q.Context().Err() == nil
}

// GetRetryType implements gocql.RetryPolicy.
func (retries) GetRetryType(err error) gocql.RetryType {
	var refused gocql.RequestError
	if !errors.As(err, &refused) {
		return gocql.RetryNextHost // a connection that broke, or did not answer
	}
	switch refused.Code() {
	case gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping, gocql.ErrCodeServer,
		gocql.ErrCodeReadTimeout, gocql.ErrCodeWriteTimeout, gocql.ErrCodeReadFailure, gocql.ErrCodeWriteFailure:
		return gocql.RetryNextHost
	}
	return gocql.Rethrow // it would be refused again
}
