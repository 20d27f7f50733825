// Package clienttest is what the tests of both protocols' clients share.
//
//	Recorder, Tally, Counter  sinks
//	Network                   scripted servers, which a client dials in memory
//	Counters, Passive         databases of real IOCs
//	Check…                    what the client of either protocol has to do
//
// A protocol's tests write the scripted servers, and what only that protocol does.
package clienttest
