// Package channellist is the form in which channels go from the operator to the
// engines: compressed lists, named by the hash of their content, in ConfigMaps
// that never change.
//
//	operator: channels of a shard ──Encode──▶ Lists ──▶ ConfigMaps, references in an ArchiveShard
//	engine:                 channels ◀──Decode── bytes ◀── ConfigMap
package channellist
