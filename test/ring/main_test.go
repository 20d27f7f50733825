// Package ring tests an archive on several real Cassandra nodes while nodes fail, join and
// leave.
//
//	EPICS IOC ──▶ varve standalone ──▶ three to four nodes, each sample on three
//	                  ▲ HTTP                     ▲
//	                users ───────── watch ──── a reader that reads only the store
//	                   checks: acknowledged samples are stored; every read succeeds
package ring

import (
	"os"
	"testing"

	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
