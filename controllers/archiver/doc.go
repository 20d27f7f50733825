// Package archiver reconciles Archivers: it turns an Archiver into its objects and writes its
// status.
//
//	fetch    reconciler.go          the Archiver
//	observe  observe_children.go    its Deployments, Services, Jobs, …
//	         observe_monitors.go    its ServiceMonitors, if the cluster has the kind
//	         observe_cassandra.go   its managed Cassandra datacenter, if it has one
//	plan     render.Archiver        the objects that it should have (pure)
//	apply    secrets.go             Secrets with Cassandra's passwords
//	         apply.go               all other objects, by server-side apply
//	prune    prune.go               objects that it should no longer have
//	status   observe.go             pods, shards, engines, failed mounts (observe_mounts.go)
//	         archiverstatus         the status (pure)
//	         status.go              one patch, skipped if nothing has changed
//	         metrics.go, costs.go   metrics; the deletion cost of each engine pod
package archiver
