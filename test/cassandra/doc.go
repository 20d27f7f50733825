// Package cassandra runs a real Apache Cassandra for tests, from the jars that
// hack/cassandra/cassandra.sh fetches.
//
//	test ── Start ───▶ cassandra.sh run 1 ──exec──▶ java, on 127.0.0.1 and free ports
//	     └─ Shared ──▶ one such node for the process, or $VARVE_TEST_CASSANDRA
//	                   └─▶ a keyspace of the test's own, dropped when it ends
//	     └─ StartRing ─▶ several nodes at 127.0.0.1, .2, …: Grow, Decommission
//
// All nodes listen on loopback, unless the test names another address. If Cassandra cannot be
// started, the test fails and logs the end of the node's log.
package cassandra
