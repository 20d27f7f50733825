// Package handover simulates how shards change hands, and checks that no sample is lost or
// read twice (docs/design/handover.md). A seed determines the interleaving of all steps.
//
//	seed ─▶ chaos: crashes, stalls, partitions, outages, moves, two operators
//	            │
//	IOC ──▶ subscription ──▶ shardJournal ──▶ rows ─┐             ┌─▶ read: memory, journal, blocks ─┐
//	            ▲              ├───────────▶ spool ─┼─▶ tables ───┤                                  ▼
//	            │              └──────────▶ sealer ─┘   (store)   └─▶ at the end: all of it ─────▶ oracle
//	  handover.Decide ◀─ API server ◀─ placement.Plan ◀─ reports, Leases
//
// The simulation is one goroutine and a heap of pending steps. It uses no clock, no network
// and no disk. Each message to the store or the API server has its own delay. A message may be
// lost before or after it takes effect, may take effect long after its sender stopped waiting,
// or may take effect twice. Each process has a clock with an offset and a rate. A process may
// stall between any two steps, and may continue after others have declared it dead. The same
// seed always gives the same run.
//
// # What is real and what is a model
//
// The real code of the operator and the agent decides which engine captures a shard:
// placement.Plan with its Memory, and handover.Decide, Joining and Phase. Shard journals,
// sealers, spools, readers, the IOC, the store and the API server are small state machines,
// modelled on the packages journal, seal, spool, query and store. In the model a shard has
// one PV, a position is a number, and a block is a list. This package tests the state
// machines under the worst interleavings. test/model and the tests under engine check that
// the real code behaves like the state machines. The model has two limits: clocks run at
// 0.9 to 1.1 times the right rate, and the updates of an IOC wait for a stalled client, in
// order, for as long as the client stalls.
//
// # The rules
//
//   - Invariant I1 defines when a row counts as acknowledged. Every read that begins later
//     shows the row, even if other steps run between the steps of the read.
//   - No read shows an update twice.
//   - A read shows every sample that an answering engine had in memory or in its spool when
//     the read began.
//   - At the end, after all faults have healed, no sample waits in memory or in a spool. One
//     engine captures each shard, or two with redundancy, and exactly one engine seals it. No
//     shard move is under way, and no claim of a dead writer is left.
//   - No update of an IOC is lost if there are only planned moves, or if two engines capture
//     each shard and only one of them crashes at a time. In other runs an update may be lost
//     only if it was never acknowledged, and either its holders crashed or no engine was
//     connected. A lost update also lies in the mark of a death, whatever the clocks of the engines
//     show, or an engine knew that it was not connected.
//
// Two cases of loss do not violate the last rule, because the store has no record of them. The
// simulation only counts them. In the first case, the last engine leaves in order because its
// successor's answer is out of date. In the second case, a writer dies after its claim was
// dropped, or before its claim was written.
//
// # Faults
//
// A Fault breaks the protocol on purpose. A test shows that the simulation finds each Fault.
package handover
