package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// maxKeyspace is Cassandra's limit on the length of a keyspace's name.
const maxKeyspace = 48

// Keyspace is the keyspace of an archive in Cassandra. By default it is made of
// the namespace and the name, so that an Archiver that is made again finds its
// data, and no two Archivers share one: the two parts are separated by "__",
// which neither has. Where that does not hold, or the name is too long, a hash
// tells them apart.
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
