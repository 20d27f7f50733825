// Package identity authenticates the processes of an archive to each other on /internal, with certificates
// (mTLS). A process proves who it is by a URI in its certificate, not by a host name, because pods have
// changing addresses:
//
//	engine      spiffe://varve/NAMESPACE/ARCHIVER/engine      accepts retrieval and operator
//	retrieval   spiffe://varve/NAMESPACE/ARCHIVER/retrieval   accepts engine
//	operator    spiffe://varve/NAMESPACE/operator             accepts engine; NAMESPACE is the operator's own
//
//	tls.crt, tls.key ──┐                    ┌─▶ Listener ──▶ server of /internal
//	ca.crt ────────────┼─▶ Files ─▶ Party ──┤
//	authorities.crt ───┘                    └─▶ Dialer ────▶ its clients
//
// A Party reads its files again at each handshake, so certificates and authorities change without a
// restart, and connections that exist stay open. While the files cannot be used, the last valid ones stay in
// use. All authorities in the files are trusted, so that an old one and a new one overlap.
//
// A Listener or Dialer that is optional refuses nothing: it also speaks to processes without certificates, and
// counts what it would refuse. This is for upgrades; it protects against listeners on the network only.
package identity
