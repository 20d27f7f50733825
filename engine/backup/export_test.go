package backup

import (
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

// Parts of the tests that the test with Cassandra uses. That test is in another package, because test/cassandra imports
// the stores.
const TestShards = shards

// Names of helpers for the test with Cassandra.
var (
	Archive      = archive
	MustCreate   = create
	CheckSame    = checkSame
	NewWorld     = newWorld
	CheckArchive = checkArchive
)

// OpenDirectory returns an empty archive in a directory.
func OpenDirectory(t *testing.T) store.Store { return open(t, t.TempDir()) }

// BeginNow makes the first sample one of this hour, so that no later bucket has a carried-forward sample.
func (w *world) BeginNow() { w.begin = store.Hour.Of(time.Now().UnixNano()).Start() }

// Methods of world for the test with Cassandra.

func (w *world) Send(n int)                                   { w.send(n) }
func (w *world) Sent() int                                    { return w.sent }
func (w *world) Checkpoint()                                  { w.checkpoint() }
func (w *world) Close()                                       { w.close() }
func (w *world) CheckRead(st store.Store, n int, what string) { w.checkRead(st, n, what) }
