// Package identity authenticates the processes of an archive on /internal, by certificates (mTLS). A process proves
// its identity by a URI in its certificate, not by a host name, because the addresses of pods change:
//
//	engine      spiffe://varve/NAMESPACE/ARCHIVER/engine      accepts retrieval and operator
//	retrieval   spiffe://varve/NAMESPACE/ARCHIVER/retrieval   accepts engine
//	operator    spiffe://varve/NAMESPACE/operator             accepts engine; NAMESPACE is the operator's own
//
//	tls.crt, tls.key ──┐                    ┌─▶ Listener ──▶ server of /internal
//	ca.crt ────────────┼─▶ Files ─▶ Party ──┤
//	authorities.crt ───┘                    └─▶ Dialer ────▶ its clients
//
// A Party reads its files again at each handshake, so certificates and authorities can change without a restart, and
// open connections stay open. While the files cannot be used, their last valid content stays in use. A Party trusts
// all authorities in the files, so an old and a new one can overlap.
//
// An optional Listener or Dialer refuses no connection: it also connects to processes without certificates, and counts
// the connections that it would refuse otherwise. This is for upgrades. It only protects against people who listen on
// the network.
package identity
