// Package circuit serves one client's TCP connection, for any protocol: it reads requests, and
// decides which updates are due at which time.
//
//	client ─▶ receive ─▶ Speaker.Handle ─▶ answers ─┐
//	                                                ├─▶ client
//	clock ─▶ Circuit ──▶ Speaker.Send ───▶ updates ─┘
//
// A circuit has two goroutines: one owns all state of the circuit and of the Speaker, the
// other reads requests. A circuit queues nothing. If the client is slow, the circuit lags
// behind the clock, and computes the late updates when it can send them. If it lags by more
// than Config.MaxLag, it skips whole turns and counts their updates as dropped.
package circuit
