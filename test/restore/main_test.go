// Package restore takes a backup of an archive in Cassandra while engines write, has the
// node vanish with its disk, and brings the archive back on an empty one. The commands are
// those of docs/backup.md, word by word.
//
//	ioc ──▶ engines A, B ──▶ node ── snapshots, while block writes are held and let go ──▶ tar
//	                                                                                      │
//	ioc ──▶ engines, new ──▶ empty node ◀── varve schema ◀── nodetool import ◀────────────┘
package restore

import (
	"os"
	"testing"

	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
