// Package clienttest has the common parts of the tests of both clients.
//
//	Recorder, Tally, Counter  sinks
//	Network                   scripted servers, which a client dials in memory
//	Counters, Passive         databases of real IOCs
//	Check…                    checks that both clients must pass
//
// The tests of a protocol define its scripted servers, and check the behaviour that only this
// protocol has.
package clienttest
