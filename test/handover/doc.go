// Package handover simulates how shards change hands, with every interleaving drawn from a
// seed, and looks whether a sample is lost or read twice (docs/design/handover.md).
//
//	seed ─▶ chaos: crashes, stalls, partitions, outages, moves, two operators
//	            │
//	IOC ──▶ subscription ──▶ shardJournal ──▶ rows ───┐             ┌─▶ read: memory, journal, blocks ──┐
//	            ▲              ├──▶ spool ────┼─▶ tables ───┤                                   ▼
//	            │              └──▶ sealer ───┘   (store)   └─▶ at the end: all of it ──────▶ oracle
//	    duty.Decide ◀─ API server ◀─ placement.Plan ◀─ reports, Leases
//
// It is one goroutine and a heap of pending steps: no clock, no network, no disk. Each
// message, to the store or the API server, takes a time of its own; it may be lost before
// or after it took effect, take effect long after its sender gave up, or twice. Each
// process has a clock with an offset and a rate, may stop between any two steps, and go on
// when others have taken it for dead. The same seed does the same again.
//
// # What is real and what is a model
//
// Who captures is decided by the code of the operator and of the agent: placement.Plan with
// its Memory, duty.Decide, Joining and Say. ShardJournals, sealers, spools, readers, the IOC, the store
// and the API server are state machines of a few lines each, after the packages journal, seal,
// spool, query and store: a shard has one PV, a position is a number, a block a list.
// Whether the real code does what these do is what test/model and the tests of package
// engine are for; what these do in the worst order of things is what this is for. Two
// limits: clocks run between 0.9 and 1.1 of the right rate, and what an IOC has sent waits
// for a client that stalls, in order, for as long as it takes.
//
// # The rules
//
//   - A row counts as acknowledged as invariant I1 has it. From then on every read shows it, at
//     any moment, also one whose steps others interleave with.
//   - No read shows an update twice.
//   - What engines that answered had in memory, or in a spool, when a read began, it shows.
//   - At the end, when all has healed, nothing waits; one engine, or two, captures each
//     shard, one seals it, no move is under way, no claim of a dead writer is left.
//   - With planned moves only, and with two engines of which one at a time crashes, nothing
//     that an IOC sent is lost. Otherwise what is lost was acknowledged nowhere, its holders
//     crashed or nobody was connected; and if clocks are right, it lies in the mark of a
//     death, or engines knew that they were not connected.
//
// Two cases of the last rule are counted, and not held against it: the last engine left in
// order since its successor's answer was out of date, and a writer died while its claim
// did not stand. Nothing in the store tells of these.
//
// # Faults
//
// A Fault breaks the protocol on purpose, and a test shows that each is found.
package handover
