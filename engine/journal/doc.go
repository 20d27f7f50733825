// Package journal makes samples durable. Samples wait in a Head per PV and type;
// the ShardJournal of their shard writes what is new, of all its heads, as one row per
// flush interval; a head gives samples up when they stand in a block,
// sealed here or by another engine.
//
//	capture ── ShardJournal.Append ──▶ arrivals
//	                              │ settle: at a flush, or when somebody looks
//	                              ▼
//	                           Head ─┐
//	                           Head ─┼─ ShardJournal: row ──▶ store (journal) ── acknowledged
//	                           Head ─┘    └─ away ──▶ Spool                  │
//	   query ◀── ShardJournal.Recent ── Head ◀─────────── acked ─────────────────────┘
//	                              ├── seal: Head.Unsealed ──▶ block ──▶ Head.Sealed
//	                              └── another engine sealed the rows: ShardJournal.GiveUp
//
// A shardJournal has one row under way at a time, so the rows of a writer appear in the
// store in the order of their positions: whoever seals them up to a position can
// not have missed one below it. A row that fails is sent again, the same bytes
// under the same position, until it is acknowledged. Meanwhile samples stay in
// their heads; when all heads together take more than the memory allowed, the
// oldest samples that are in no row yet are dropped, counted and marked.
//
// With a spool, samples leave memory for it once the store has failed for some seconds,
// or memory is short. The row under way is given up, with its position: whether it is
// in the store nobody knows, so its samples are put into the spool, and no other row
// has that position. The spool sends its rows under writers of its own; the shardJournal goes
// on with live rows as soon as its claim stands in the store again. So what was spooled
// may be stored after what came later: samples of one PV have their order by time.
//
// Large values, as images are, count at once, and make room for themselves. Nobody
// copies them to look at them: the bytes of a run are only ever added to, or let go
// of. A shardJournal writes of each head up to a row at a time, and of all shardJournals only a few
// have a row with a large value under way.
package journal
