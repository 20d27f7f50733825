// Package ca serves simulated PVs over Channel Access.
//
//	client ─▶ requests ─▶ session ─▶ frames of its subscriptions ─▶ client
//	                                   ▲ patched in place
//	                        Set.Value ─┘ (sim)
//	client ─▶ datagram ─▶ Server.Answer ─▶ datagram ─▶ client
//
// A session keeps the frames of all its subscriptions encoded, patches time, alarm
// and value in place, and writes them in large pieces: no lock, no map and no
// allocation per event.
package ca
