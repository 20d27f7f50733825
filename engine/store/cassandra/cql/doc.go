// Package cql connects to a Cassandra cluster and reports why a connection fails.
//
//	Config ── defaults, checks ──▶ Probe: one node, read-only queries ──▶ Topology, datacenter
//	   │
//	   └─ Cluster ──▶ Connect ── TCP, TLS, login ──▶ session of the driver
//	                     └─ fails ──▶ ErrCredentials, ErrTLS, ErrHungUp, …
//
// Two packages use it: cassandra, which reads and writes samples, and schema, which creates
// the tables.
package cql
