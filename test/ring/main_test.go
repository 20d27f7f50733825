// Package ring tests an archive on several real nodes of Cassandra that come and go.
//
//	EPICS IOC ──▶ varve standalone ──▶ three to four nodes, each sample on three
//	                  ▲ HTTP                     ▲
//	                users ───────── watch ──── a reader of the store alone
//	                        what is acknowledged is there; every read answers
package ring

import (
	"os"
	"testing"

	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
