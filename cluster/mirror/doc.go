// Package mirror keeps what a pod needs to know of the API server, and goes on
// with what it knew while the API server is away:
//
//	objects ── list, watch ──▶ Objects ── changed() ──▶ agent, owners
//	ConfigMaps ── GET, hash ──▶ Lists ──── changed() ──▶
//
// It has no opinion on absence: who reads a mirror decides what a missing object
// means.
package mirror
