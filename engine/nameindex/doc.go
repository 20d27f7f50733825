// Package nameindex finds names of PVs in an archive of a million PVs without a scan of its directory:
//
//	directory of the store ── scan at first, then changes ──┐
//	                                                        ├─▶ Index ─▶ View: all names, sorted, in one text
//	captured PVs ── read again after a change ──────────────┘                │
//	                                                                         ▼
//	glob, regular expression ─▶ Pattern: prefixes, a text that must occur ─▶ Search ─▶ names, in order
//
// A View never changes, so a search needs no lock while its answer is sent. A change makes a new View.
//
// # Freshness
//
// A search finds each PV that was captured when the search began. What it finds in the directory depends on the store:
//
//   - A store that reports changes (store.DirectoryReporter, such as Pebble): the directory when the search began.
//   - Another store, such as Cassandra, with a small directory: the same, because each search reads the names again.
//   - Another store with a large directory: the directory at most MaxAge before. Run reads the names again about once a
//     minute. If that fails, or Run does not run, a search that would be older than MaxAge reads the names itself.
package nameindex
