// Package serve is the HTTP server of an archive. It puts together the APIs that
// clients use:
//
//	              ┌─ /retrieval, /mgmt  appliance ─┐
//	request ─▶ mux├─ /api/v1            native     ├─▶ query ─▶ store, memory
//	              ├─ /metrics                      ┘
//	              ├─ /healthz, /readyz, /
//	              └─ /internal: Config.Extra, as peer
//
// An engine that reads nothing serves without the read APIs.
//
// Answers are streamed: a request holds what is being encoded, and no more. A
// client that does not read loses its connection. Answers are compressed with
// gzip for clients that take it, never with deflate, which some of them can not
// read; raw answers never.
package serve
