// Package serve is the HTTP server of an archive. It combines the APIs that clients
// use:
//
//	              ┌─ /retrieval, /mgmt  appliance ──┐
//	              ├─ /archive-access    jsonaccess  │
//	              ├─ /prometheus        promapi     │
//	request ─▶ mux├─ /api/v1            native      ├─▶ query ─▶ store, memory
//	              ├─ /api/v1/bins, …    explore     │
//	              ├─ /metrics                       ┘
//	              ├─ /healthz, /readyz
//	              ├─ /, /assets         ui
//	              └─ /internal: Config.Extra, such as peer
//
// Before the mux, package access identifies the request. What its sender may not read is hidden below
// the APIs, by package visible:
//
//	request ─▶ metrics ─▶ limits ─▶ origins ─▶ identify ─▶ mux ─▶ API ─▶ visible ─▶ query
//	                                              └─▶ audit
//
// An engine that does not read the archive serves no read APIs.
//
// Connections, requests, bodies and reads of samples are bounded. Of each, a client gets a share, so that
// it cannot keep the others from reading.
//
// Answers are streamed: a request holds only the piece that is being encoded. If a client stops reading,
// the server closes the connection. The server compresses answers with gzip for clients that accept it. It
// never uses deflate, which some clients cannot read, and never compresses raw answers.
package serve
