// Package lab contains the helpers that all specs on a real Kubernetes cluster share. It runs
// programs, installs the operator, and sets up an archive like that of a laboratory.
//
//	Open ──▶ Kube, ContactPoints (a Cassandra on this machine), the operator
//	New ───▶ Lab: a namespace with an Archiver, read through its Service
//	Kill ──▶ a Varve process ends as in a crash
//
// Unless it returns an error, a function fails the calling spec when something goes wrong.
package lab
