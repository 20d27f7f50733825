// Package protocols tests Channel Access and pvAccess end to end with real servers: IOCs of EPICS
// base with QSRV2, and servers of caproto and p4p.
//
//	server ── CA, PVA ──▶ varve standalone ── HTTP: .json, .raw, /api/v1 ──┐
//	   └───── CA, PVA ──▶ pyepics, caproto, p4p ────────────────────── compare
//
//	counting IOC ── failing network ──▶ varve standalone ──▶ every step, or a mark
//
// The archive must return every type of value as the other clients see it. If the network
// fails, a mark must cover each missing step of a counting PV.
package protocols

import (
	"os"
	"testing"

	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
