// Package epics runs real EPICS software for tests: IOCs of EPICS base with PVXS, and
// independent clients, from the Python environment that hack/venv.sh creates.
//
//	test ── StartIOC ──▶ python -m pvxslibs.ioc ◀── CA, PVA ── the client under test
//	     └─ IOC.Run ───▶ python script ◀─────────── CA, PVA ──┘ compare
//
// All servers listen on loopback, on free ports. A test fails if the environment cannot be
// created.
package epics
