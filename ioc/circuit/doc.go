// Package circuit serves one client's TCP connection, whatever protocol it speaks:
// it reads requests, and says when which updates are due.
//
//	client ─▶ receive ─▶ Speaker.Handle ─▶ answers ─┐
//	                                                ├─▶ client
//	clock ─▶ Circuit ──▶ Speaker.Send ───▶ updates ─┘
//
// A circuit is one goroutine that owns all of its state and that of the Speaker,
// and one that reads for it. It queues nothing. A circuit whose client is slow lags
// behind the clock; it catches up from what it can compute, up to Config.MaxLag, and
// past that passes over whole turns, whose updates are counted.
package circuit
