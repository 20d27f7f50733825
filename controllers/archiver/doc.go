// Package archiver reconciles Archivers: it turns an Archiver into its objects and writes its
// status.
//
//	fetch    reconciler.go          the Archiver
//	observe  observe_children.go    its Deployments, Services, Jobs, …
//	         observe_monitors.go    its ServiceMonitors, if the cluster has the kind
//	         observe_cassandra.go   its managed Cassandra datacenter, if it has one
//	         observe.go             pods, shards, engines, failed mounts (observe_mounts.go)
//	plan     render.Archiver        the objects that it should have (pure)
//	         rollout.go             which of them wait for other pods; whether to finalize an upgrade
//	apply    secrets.go             Secrets with Cassandra's passwords
//	         apply.go               all other objects, by server-side apply
//	prune    prune.go               objects that it should no longer have
//	status   archiverstatus         the status (pure)
//	         status.go              one patch, skipped if nothing has changed
//	         metrics.go, costs.go   metrics; the deletion cost of each engine pod
package archiver
