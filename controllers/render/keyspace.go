package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// maxKeyspace is the maximum length of a keyspace's name in Cassandra.
const maxKeyspace = 48

// Keyspace returns the keyspace of an archive in Cassandra. The default is derived from the
// namespace and the name of the Archiver, so that an Archiver that is created again finds its
// data. No two Archivers share a default. "__" separates the namespace from the name, and
// neither of them may contain it. If one of them contains "__", or if the keyspace name is too
// long, a hash makes it unique.
func Keyspace(a *v1alpha1.Archiver) string {
	if k := a.Spec.Storage.Cassandra.Keyspace; k != "" {
		return k
	}
	parts := a.Namespace + "/" + a.Name
	name := strings.NewReplacer("-", "_", "/", "__").Replace(parts)
	starts := name[0] >= 'a' && name[0] <= 'z'
	if len(name) <= maxKeyspace && starts && !strings.Contains(parts, "--") {
		return name
	}
	sum := sha256.Sum256([]byte(parts))
	suffix := "___" + hex.EncodeToString(sum[:4])
	if !starts {
		name = "v" + name
	}
	return name[:min(len(name), maxKeyspace-len(suffix))] + suffix
}
