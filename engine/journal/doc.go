// Package journal makes samples durable. A Head holds the samples of one PV and one
// type. A ShardJournal writes the new samples of all heads of its shard as one row per
// flush interval. A head gives samples up when they stand in a block, whether this
// engine or another one sealed it.
//
//	capture ── ShardJournal.Append ──▶ arrivals
//	                              │ deliverArrivals: at a flush, or when a reader asks
//	                              ▼
//	                           Head ─┐
//	                           Head ─┼─ ShardJournal: row ──▶ store (journal) ── acknowledged
//	                           Head ─┘    └─ store unreachable ──▶ Spool             │
//	   query ◀── ShardJournal.Recent ── Head ◀─────────── acked ─────────────────────┘
//	                              ├── seal: Head.Unsealed ──▶ block ──▶ Head.Sealed
//	                              └── another engine sealed the rows: ShardJournal.GiveUp
//
// A shard journal has one row under way at a time, so the rows of a writer appear in
// the store in the order of their positions. A sealer that has read the rows up to a
// position therefore cannot have missed an earlier one. A row that fails is sent again,
// the same bytes under the same position, until it is acknowledged. Meanwhile samples
// stay in their heads. When all heads together take more memory than allowed, the
// oldest samples that are in no row yet are dropped, counted and marked.
//
// With a spool, samples leave memory for the disk once the store has failed for some
// seconds, or when memory is short. The shard journal then abandons the row under way
// and its position. It cannot know whether that row is in the store, so it puts the
// row's samples into the spool and never uses the position for another row. The spool
// sends its rows under writer IDs of its own. The shard journal goes on with live rows
// as soon as its claim stands in the store again. So spooled samples may be stored after
// samples that arrived later; readers sort the samples of a PV by time.
//
// Large values, such as images, count as memory at once and make room for themselves.
// They are never copied just to be read: the bytes of a run are only added to, or
// released. A pass writes at most one row from each head, and only a few shard journals
// have a row with a large value under way at the same time.
package journal
