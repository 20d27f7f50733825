package schema

import (
	"errors"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
)

// finals are the errors that only an administrator can resolve.
var finals = []error{
	store.ErrFormat, cql.ErrDatacenter, cql.ErrCredentials, cql.ErrForbidden, cql.ErrTLS, ErrCompatibility, ErrReplication, ErrRoles, errPartitioner,
}

// IsFinal reports whether an error of Create, Replicate or GrantRole lasts until an
// administrator changes something. Other errors may pass with time.
func IsFinal(err error) bool {
	for _, f := range finals {
		if errors.Is(err, f) {
			return true
		}
	}
	return false
}
