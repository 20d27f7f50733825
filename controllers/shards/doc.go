// Package shards reconciles the shards of Archivers. It turns the groups of an Archiver into
// ArchiveShards and their channel lists, and assigns the shards to engines.
//
//	fetch    observe.go               the Archiver and its groups
//	observe  observe.go               its shards, channel lists and engines
//	         observe_cache.go         waits until the cache has the shards last written
//	plan     plan_sources.go          reads the sources of groups: ConfigMaps, ChannelFinder
//	         plan_compile.go          groups → channels per shard, as channel lists
//	         plan_leaving.go          PVs that change shards stay in both until the new one has them
//	         plan_former.go           lists that shards captured until recently
//	         plan_deletions.go        deletions of samples: which shard carries them out, and when
//	         plan_placement.go        shards → engines (package placement)
//	apply    apply_lists.go           channel lists
//	         apply_shards.go          ArchiveShards
//	         apply_finalizers.go      finalizers of groups whose data is to be deleted
//	prune    prune.go                 shards, lists and answers that are no longer needed
//	status   status_moves.go          events and metrics of moves
//	         status_deletions.go      how far deletions of samples are
//	         status_outcome.go        the outcome, for the reconcilers archiver and group
//
// memory.go holds what the reconciler remembers of an Archiver between two runs. It may lose
// its memory at any time, because everything that must last is in the objects of the API
// server.
package shards
