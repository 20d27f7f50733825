// Package mirror mirrors the objects and channel lists that a pod needs from the API server.
// While the API server is down, a mirror keeps its last content. It is the input of the
// agent in engine pods and of the routing in retrieval pods:
//
//	objects ── list, watch ──▶ Objects ── changed() ──▶ agent, retrieval/routing
//	ConfigMaps ── GET, hash ──▶ Lists ──── changed() ──▶
//
// A mirror does not interpret missing objects. Its users decide what a missing object means.
package mirror
