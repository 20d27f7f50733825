// Package ca serves simulated PVs over Channel Access.
//
//	client ─▶ requests ─▶ session ─▶ frames of its subscriptions ─▶ client
//	                                   ▲ patched in place
//	                        Set.Value ─┘ (sim)
//	client ─▶ datagram ─▶ Server.AppendAnswer ─▶ datagram ─▶ client
//
// A session keeps an encoded frame for each of its subscriptions. It patches time, alarm and
// value in place, and writes the frames in large pieces. An event costs no lock, no map access
// and no allocation.
package ca
