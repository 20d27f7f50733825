package cassandra

import (
	"os"
	"path/filepath"
	"testing"
)

// Files returns the size in bytes of each SSTable data file of a table on the node's disk, by
// file name.
func (n *Node) Files(tb testing.TB, keyspace, table string) map[string]int64 {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(n.dir, "1", "data", keyspace, table+"-*", "*-Data.db"))
	if err != nil {
		tb.Fatal(err)
	}
	files := map[string]int64{}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil { // Cassandra may have removed it since Glob
			files[filepath.Base(path)] = info.Size()
		}
	}
	return files
}
