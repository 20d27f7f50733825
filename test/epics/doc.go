// Package epics runs real EPICS software for tests: IOCs of EPICS base with PVXS,
// and independent clients, from the Python environment that hack/venv.sh makes.
//
//	test ── StartIOC ──▶ python -m pvxslibs.ioc ◀── CA, PVA ── the client under test
//	     └─ IOC.Run ───▶ python script ◀─────────── CA, PVA ──┘ compare
//
// Everything listens on loopback, on ports that were free. A test fails if the
// environment cannot be made.
package epics
