// Package retry spaces repeated tries of an operation that failed, such as a write
// to a store that is unreachable.
//
//	try ── fails ──▶ Backoff.Wait: Min, 2·Min, 4·Min, … Max, each ± Spread ──▶ try …
//	    └─ succeeds ─▶ Backoff.Reset: the next wait is Min again
//
// The delays are random within their spread: many shards that lost the store at the
// same moment do not all come back to it at the same moment.
//
// The caller owns the loop. It decides which errors are worth another try and when
// to give up, and it counts and logs the failures:
//
//	for b := (retry.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}); ; {
//		err := write(ctx)
//		if err == nil || !b.Wait(ctx) {
//			return err
//		}
//	}
package retry
