// Package client is the common part of the clients of Channel Access and pvAccess. It finds
// the servers of channels, keeps circuits to them, and searches again for lost channels.
//
//	Subscribe ──▶ Channel ──▶ search.Queue ──▶ SendSearches: UDP datagrams, name servers
//	               ▲   ▲          ▲                       │ answers
//	          lost │   │ Prober   │ beacon anomaly        ▼
//	               │   └─ probe ──┼───────────────▶ Found ──▶ Circuit (one per server address)
//	               └──────────────┴── SearchAgain ◀── lost channels ──┘
//
// The Kernel has the channels, the search and the circuits. The package of a protocol
// (engine/ca, engine/pva) gives it a Protocol, which sends searches and creates Circuits. A
// Circuit embeds a Link, which connects, runs and ends the circuit. The package of the protocol
// handles the messages of the circuit, and the slots of its channels.
//
// A Channel has one owner, whose lock guards it. While the client searches for the channel, the
// Kernel owns it. Afterwards the Circuit to the channel's server owns it. Locks are taken in
// the order circuit, kernel, outbox.
//
// A client finds lost channels again in three ways:
//
//   - It searches for them, with back-off.
//   - A beacon anomaly hastens the search for all names.
//   - The client probes the address of the lost server by TCP (search.Prober), because beacons
//     do not reach pods.
//
// A client uses an answer to a search only if it comes from a host that got the search: see
// Origin. The numbers of channels in searches are random, so that other hosts cannot answer.
//
// A client has one goroutine that searches, one that receives datagrams, one that resolves host
// names, one per name server, one per lost server, two per circuit, and those of the protocol.
// Close ends them all.
package client
