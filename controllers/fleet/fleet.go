// Package fleet knows the engines of every Archiver: their pods, whether they
// live, and what they report.
//
//	pods, Leases ──┐
//	               ├─▶ Fleet ──▶ Engines ──▶ placement, status
//	/internal/report ┘
package fleet

import "varve.dev/varve/controllers/report"

// Engine is one engine pod as the operator sees it.
type Engine struct {
	// Name of the pod, and of the engine.
	Name string
	// Node and Zone the pod runs on; empty before it is scheduled, or unknown.
	Node, Zone string
	// Ready says that the pod is; Deleting that it was asked to end.
	Ready, Deleting bool
	// Dead says that its Lease was not renewed for so long that another engine
	// must take over. An engine without a Lease yet is neither ready nor dead.
	Dead bool
	// Report is the latest one; nil before the first, or when it is too old to
	// be believed.
	Report *report.Report
}
