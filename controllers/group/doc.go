// Package group reconciles ArchiveGroups: it writes the status of each group. Package shards
// decides which PVs are archived.
//
//	fetch    reconciler.go   the ArchiveGroup
//	observe  observe.go      its outcome (from shards), reports of engines (from fleet)
//	plan     groupstatus     the status (pure)
//	status   reconciler.go   one patch, skipped if nothing has changed
package group
