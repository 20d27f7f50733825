// Package restore tests backups. It takes a backup of an archive in Cassandra while engines
// write, destroys the node with its disk, and restores the archive on an empty node. It runs
// the commands of docs/backup.md, word for word.
//
//	ioc ──▶ engines A, B ──▶ node ── snapshots, while a gate delays block writes ──▶ tar
//	                                                                                  │
//	ioc ──▶ new engines ──▶ empty node ◀── varve schema ◀── nodetool import ◀─────────┘
package restore

import (
	"os"
	"testing"

	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
