// Package protocols tests Channel Access and pvAccess end to end, on real servers:
// IOCs of EPICS base with QSRV2, servers of caproto and p4p.
//
//	server ── CA, PVA ──▶ varve standalone ── HTTP: .json, .raw, /api/v1 ──┐
//	   └───── CA, PVA ──▶ pyepics, caproto, p4p ────────────────────── compare
//
//	IOC that counts ── a network that fails ──▶ varve standalone ──▶ every step, or a mark
//
// Each type of value that the servers have must be in the archive as the other
// clients see it; and whatever the network does, no step of a PV that counts may be
// missing without a mark that covers it.
package protocols

import (
	"os"
	"testing"

	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
