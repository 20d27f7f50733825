// Package journal makes samples durable. A Head holds the samples of one PV and one
// type. A ShardJournal writes the new samples of all heads of its shard as one row per
// flush interval. A head releases samples once they are in a block, whether this engine
// or another one sealed that block.
//
//	capture ── ShardJournal.Append ──▶ arrivals
//	                              │ deliverArrivals: at a flush, or when a reader asks
//	                              ▼
//	                           Head ─┐
//	                           Head ─┼─ ShardJournal: row ──▶ store (journal) ── acknowledged
//	                           Head ─┘    └─ store unreachable ──▶ Spool             │
//	   query ◀── ShardJournal.Recent ── Head ◀─────────── acked ─────────────────────┘
//	                              ├── seal: Head.Unsealed ──▶ block ──▶ Head.Sealed
//	                              ├── another engine sealed the rows: ShardJournal.GiveUp
//	                              └── memory is short: ShardJournal.Released, sealed from the journal
//
// A shard journal has one row under way at a time, so the rows of a writer appear in
// the store in the order of their positions. A sealer that has read the rows up to a
// position therefore cannot have missed an earlier one. If a write of a row fails, the
// shard journal sends the same bytes again under the same position, until the store
// acknowledges them. Meanwhile samples stay in their heads.
//
// When sealing lags and memory is short, a shard journal releases the samples of acknowledged
// rows: the sealer and readers read them from the journal. When all heads together still take
// more memory than allowed, the oldest samples that are in no row yet are dropped, counted and
// marked.
//
// With a spool, samples leave memory for the disk once the store has failed for some
// seconds, or when memory is short. The shard journal then abandons the row under way
// and its position. It cannot know whether that row is in the store, so it puts the
// row's samples into the spool and never uses the position for another row. The spool
// sends its rows under writer IDs of its own. The shard journal writes new rows to the
// store as soon as its claim is in the store again. Spooled samples may therefore be
// stored after samples that arrived later. Readers sort the samples of a PV by time.
//
// Large values, such as images, count as memory at once. If memory is short, they make
// room by dropping older samples of their head. Reading never copies them: the bytes of a
// run are only added to, or released. A pass writes at most one row from each head, and
// only a few shard journals have a row with a large value under way at the same time.
package journal
