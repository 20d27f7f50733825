// Package overview serves what an operator of an archive needs to see at a glance, under /api/v1:
// engines, shards, storage, losses and groups, with what is wrong and what to do about it.
//
//	states of channels ──census──┐                  ┌──▶ /api/v1/archive
//	store ─────────────describe──┼── one pass for ──┼──▶ /api/v1/groups, /groups/{group}
//	Sources: engines, shards, ───┘   all clients    └──▶ /api/v1/losses ◀── marks
//	         moves, groups                               /api/v1/groups/check ◀── a manifest
//	blocks and tiles of some PVs ──growth.Measure──────▶ /api/v1/forecast
//
// If a process does not know a figure, its answer leaves the figure out, and the member unknown says why.
// It never says 0 instead. The programs that serve an archive supply Sources: a process that captures
// knows itself, and a retrieval pod of a cluster asks the engines and the API server.
//
// A census visits every channel. So it is made at most once in a while for all clients, and its
// answer says when it was made.
package overview
