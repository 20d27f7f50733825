package cassandra

import "errors"

// finals are what only an administrator can change.
var finals = []error{
	ErrVersion, ErrDatacenter, ErrCredentials, ErrForbidden, ErrTLS, ErrCompatibility, ErrReplication, ErrRoles, errPartitioner,
}

// Final reports whether an error of CreateSchema, Replicate or GrantRole stays until somebody
// changes something. Others may pass with time.
func Final(err error) bool {
	for _, f := range finals {
		if errors.Is(err, f) {
			return true
		}
	}
	return false
}
