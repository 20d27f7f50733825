package cassandra

import "testing"

func TestDataSize(t *testing.T) {
	for s, want := range map[string]int64{
		"100GiB": 100 << 30, "1TiB": 1 << 40, "512MiB": 512 << 20, "7KiB": 7 << 10, "9B": 9,
		"": 0, "null": 0, "GiB": 0, "-1GiB": 0, "0MiB": 0, "9000000000TiB": 0, "12": 0, "1.5GiB": 0,
	} {
		if got, ok := dataSize(s); ok != (want > 0) || ok && got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, ok, want)
		}
	}
}
