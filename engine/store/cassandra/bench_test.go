package cassandra_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
)

// inFlight is the number of requests that each benchmark has in flight.
const inFlight = 32

// concurrently runs f for 0 … b.N-1, inFlight at a time.
func concurrently(b *testing.B, f func(i int) error) {
	b.Helper()
	var g errgroup.Group
	g.SetLimit(inFlight)
	b.ResetTimer()
	for i := range b.N {
		g.Go(func() error { return f(i) })
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// noise returns bytes that do not compress, like blobs.
func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func BenchmarkPutJournal(b *testing.B) {
	st := open(b, config(b))
	for _, kib := range []int{64, 256, 1600} {
		b.Run(fmt.Sprintf("%dKiB", kib), func(b *testing.B) {
			blob := noise(kib << 10)
			b.SetBytes(int64(len(blob)))
			concurrently(b, func(i int) error {
				return st.PutJournal(b.Context(), store.JournalRow{
					Shard: i % 64, Writer: store.WriterID{byte(kib)}, At: store.At(uint32(1+i/6400), uint32(1+i)), Blob: blob,
				})
			})
		})
	}
}

// benchBlocks returns n consecutive blocks of 8 KiB and 1000 samples.
func benchBlocks(pv string, n int) []store.Block {
	blob := noise(8 << 10)
	blocks := make([]store.Block, n)
	for i := range blocks {
		blocks[i] = store.Block{
			BlockKey: store.BlockKey{PV: pv, Bucket: store.Year.Of(0), Start: int64(i) * 1000, N: uint32(i)},
			End:      int64(i)*1000 + 999, Count: 1000, Type: sample.Float64, Blob: blob,
		}
	}
	return blocks
}

// BenchmarkPutBlocks writes one block for each of 64 PVs, as a sealer does.
func BenchmarkPutBlocks(b *testing.B) {
	st := open(b, config(b))
	blocks := benchBlocks("", 64)
	b.SetBytes(64 * 8 << 10)
	round := int64(0)
	for b.Loop() {
		round++
		for i := range blocks {
			blocks[i].PV, blocks[i].Start, blocks[i].End = fmt.Sprint("BENCH:", i), round*1000, round*1000+999
		}
		if err := st.PutBlocks(b.Context(), blocks...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(64*b.N)/b.Elapsed().Seconds(), "blocks/s")
}

// BenchmarkBlocks reads from a bucket of 3000 blocks, 24 MiB.
func BenchmarkBlocks(b *testing.B) {
	st := open(b, config(b))
	const n = 3000
	all := benchBlocks("BENCH", n)
	if err := st.PutBlocks(b.Context(), all...); err != nil {
		b.Fatal(err)
	}
	read := func(from, to int64, want int) func(*testing.B) {
		return func(b *testing.B) {
			b.SetBytes(int64(want) * 8 << 10)
			for b.Loop() {
				got := 0
				for _, err := range st.Blocks(b.Context(), "BENCH", all[0].Bucket, from, to) {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if got != want {
					b.Fatalf("%d blocks, not %d", got, want)
				}
			}
		}
	}
	b.Run("all", read(0, n*1000, n))
	b.Run("ten", read(2_000_500, 2_009_500, 10))
	b.Run("last", func(b *testing.B) {
		for b.Loop() {
			if _, found, err := st.LastBlock(b.Context(), "BENCH", all[0].Bucket, 1_500_500); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
}

// BenchmarkLargeBlocks writes and reads blocks of one value: an array of 200,000 float64
// values or an image of 16 MiB.
func BenchmarkLargeBlocks(b *testing.B) {
	st := open(b, config(b))
	for _, kib := range []int{1600, 16 << 10} {
		blk := benchBlocks(fmt.Sprint("LARGE:", kib), 1)[0]
		blk.Blob = noise(kib << 10)
		b.Run(fmt.Sprintf("write/%dKiB", kib), func(b *testing.B) {
			b.SetBytes(int64(len(blk.Blob)))
			for b.Loop() {
				blk.N++
				if err := st.PutBlocks(b.Context(), blk); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("read/%dKiB", kib), func(b *testing.B) {
			b.SetBytes(int64(len(blk.Blob)))
			for b.Loop() {
				if _, found, err := st.LastBlock(b.Context(), blk.PV, blk.Bucket, blk.Start); err != nil || !found {
					b.Fatal(found, err)
				}
			}
		})
	}
}

// BenchmarkRowPerSample measures the usual design of archivers on Cassandra, for comparison:
// one row per sample, written by single inserts and by unlogged batches of 100.
func BenchmarkRowPerSample(b *testing.B) {
	cfg := config(b)
	session := rowTable(b, cfg)
	const insert = "INSERT INTO row_sample (pv, day, time, severity, status, value) VALUES (?, ?, ?, ?, ?, ?)"
	values := func(pv, i int) []any { return []any{fmt.Sprint("BENCH:", pv), 1, int64(i), 0, 0, rand.Float64()} }
	b.Run("single", func(b *testing.B) {
		concurrently(b, func(i int) error {
			return session.Query(insert, values(i%100, i)...).ExecContext(b.Context())
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "samples/s")
	})
	b.Run("batch100", func(b *testing.B) {
		concurrently(b, func(i int) error {
			batch := session.Batch(gocql.UnloggedBatch)
			for k := range 100 {
				batch.Entries = append(batch.Entries, gocql.BatchEntry{Stmt: insert, Args: values(i%100, 100*i+k)})
			}
			return batch.ExecContext(b.Context())
		})
		b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "samples/s")
	})
}

func rowTable(b *testing.B, cfg cql.Config) *gocql.Session {
	b.Helper()
	cluster := gocql.NewCluster(cfg.Hosts...)
	cluster.ProtoVersion, cluster.Timeout, cluster.Keyspace = 5, cfg.Timeout, cfg.Keyspace
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	session, err := cluster.CreateSession()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(session.Close)
	err = session.Query(`CREATE TABLE row_sample (pv text, day int, time bigint, severity int, status int, value double,
		PRIMARY KEY ((pv, day), time))`).ExecContext(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return session
}
