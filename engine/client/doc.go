// Package client is what the clients of Channel Access and pvAccess share: it finds the
// servers of channels, keeps circuits to them, and searches again for lost channels.
//
//	Subscribe ──▶ Channel ──▶ search.Queue ──▶ SendSearches: UDP datagrams, name servers
//	               ▲   ▲          ▲                       │ answers
//	          lost │   │ Prober   │ beacon anomaly        ▼
//	               │   └─ probe ──┼───────────────▶ Found ──▶ Circuit (one per server address)
//	               └──────────────┴── SearchAgain ◀── lost channels ──┘
//
// The Kernel has the channels, the search and the circuits. A protocol (engine/ca,
// engine/pva) gives it a Protocol, which sends searches and makes Circuits. A Circuit
// embeds a Link, which connects, runs and ends it; the protocol's part is what goes over
// the connection: the messages, and the slots of the channels on it.
//
// A Channel is either searched for, owned by the Kernel and its lock, or on a Circuit,
// owned by the Circuit and its lock. Locks are taken in the order circuit, kernel,
// outbox.
//
// Three things bring lost channels back: searches, with back-off; beacon anomalies,
// which hasten the search for all names; and probes by TCP of the address that channels
// were lost at (search.Prober), because beacons do not reach pods.
//
// Goroutines: one that searches, one that receives datagrams, one that resolves host
// names, one per name server, one per lost server, two per circuit, and those of the
// protocol. Close ends them all.
package client
