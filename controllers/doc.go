// Package controllers is the operator: one process per cluster that turns Archivers and
// ArchiveGroups into running engines. This package sets up the manager, its cache and the
// reconcilers. Each reconciler has its own package and runs these steps in order: fetch,
// observe, plan (pure), apply, prune, status.
//
//	Archiver ──────▶ archiver ── render ───────────────────▶ Deployments, Services, Job, …
//	                  │   ▲ └─── archiverstatus ────────────▶ status of the Archiver
//	                  │   └──────────────── fleet ◀── reports and Leases ── engines (agent)
//	ArchiveGroups ─▶ shards ── groups/compile, placement ───▶ channel lists, ArchiveShards
//	ArchivePolicies ──▲ │ (ownership)        │
//	ConfigMaps ───────▲ │                    │
//	ChannelFinder ────┘ └── outcome.Latest   │
//	                            ▼            ▼
//	ArchiveGroup ──────────▶ group ── groupstatus ─────────▶ status of the group
//	ArchivePolicy ─────────▶ policy ───────────────────────▶ status of the policy
//	ArchiveBackup, … ──────▶ backup ── render, backup/plan ─▶ Jobs; ArchiveBackups of schedules
package controllers
