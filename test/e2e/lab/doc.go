// Package lab is what specs on a real Kubernetes cluster have in common: programs
// run, the operator installed, and an archive as a laboratory has it.
//
//	Open ──▶ Kube, ContactPoints (a Cassandra on this machine), the operator
//	New ───▶ Lab: a namespace with an Archiver, read through its Service
//	Kill ──▶ a process of Varve ends as in a crash
//
// A function fails the spec that calls it if what it does goes wrong.
package lab
