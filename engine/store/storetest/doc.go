// Package storetest is the suite that every store passes.
//
//	back end's test ── open ──▶ Run ── writes, reads, compares ──▶ store.Store
//
// The tests share one store, as engines do. Each test uses PVs and shards of its own.
package storetest
