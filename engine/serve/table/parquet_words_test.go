package table

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// someWords are words of different lengths, whose order is not that of their first use.
var someWords = []string{"m", "", "zz", "é", "a", "mm", "NO_ALARM"}

// randomWords returns words in sequences of very different lengths. Some sequences are longer than a page.
func randomWords(rng *rand.Rand, n int) (all []string) {
	for len(all) < n {
		few := someWords[:1+rng.IntN(len(someWords))]
		length := []int{1, 100, 3000, 90_000}[rng.IntN(4)]
		for range min(n-len(all), 1+rng.IntN(length)) {
			if length == 100 || len(all) == 0 {
				all = append(all, few[rng.IntN(len(few))])
			} else {
				all = append(all, all[len(all)-1])
			}
		}
		if len(all) < n {
			all = append(all, someWords[rng.IntN(len(someWords))])
		}
	}
	return all
}

// TestWordsInParquet checks that a reader of Parquet finds the words of a column without nulls, in several
// row groups with a dictionary each, and that the bounds of each page are those of its words.
func TestWordsInParquet(t *testing.T) {
	const rows = 2*groupRows + 5000
	rng := rand.New(rand.NewPCG(18, 1))
	want := [2][]string{randomWords(rng, rows), randomWords(rng, rows)}
	var out bytes.Buffer
	w, err := NewWriter(Parquet, &out, &Schema{Columns: []Column{{Name: "a", Type: Word}, {Name: "b", Type: Word}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		w.Batch.Columns[0].AppendWord(want[0][i], 1)
		w.Batch.Columns[1].AppendWord(want[1][i], 1)
		if err := w.FlushFull(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	row, pages := 0, 0
	for _, g := range f.RowGroups() {
		n := int(g.NumRows())
		for i, chunk := range g.ColumnChunks() {
			all := want[i][row : row+n]
			if got := wordsOf(t, chunk, n); !slices.Equal(got, all) {
				t.Fatalf("column %d has other words from row %d on", i, row)
			}
			pages += checkBounds(t, chunk, all)
		}
		row += n
	}
	if row != rows || len(f.RowGroups()) != 3 || pages <= 6 {
		t.Errorf("the file has %d rows in %d row groups with %d pages", row, len(f.RowGroups()), pages)
	}
}

// wordsOf returns the n values of a column.
func wordsOf(t *testing.T, chunk parquet.ColumnChunk, n int) (all []string) {
	t.Helper()
	pages := chunk.Pages()
	defer pages.Close()
	for len(all) < n {
		page, err := pages.ReadPage()
		if err != nil {
			t.Fatal(err)
		}
		if page.Dictionary() == nil {
			t.Fatal("a page has no dictionary")
		}
		values := make([]parquet.Value, page.NumValues())
		if k, _ := page.Values().ReadValues(values); k != len(values) { // the error is io.EOF after the last one
			t.Fatalf("a page has %d values, want %d", k, len(values))
		}
		for _, v := range values {
			all = append(all, string(v.ByteArray()))
		}
		parquet.Release(page)
	}
	return all
}

// checkBounds checks the bounds of the pages of a column with these words. It returns the number of pages.
func checkBounds(t *testing.T, chunk parquet.ColumnChunk, words []string) int {
	t.Helper()
	index, err := chunk.ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	offsets, err := chunk.OffsetIndex()
	if err != nil {
		t.Fatal(err)
	}
	for i := range index.NumPages() {
		from, to := int(offsets.FirstRowIndex(i)), len(words)
		if i+1 < index.NumPages() {
			to = int(offsets.FirstRowIndex(i + 1))
		}
		least, greatest := slices.Min(words[from:to]), slices.Max(words[from:to])
		if a, b := string(index.MinValue(i).ByteArray()), string(index.MaxValue(i).ByteArray()); a != least || b != greatest {
			t.Errorf("page %d has the bounds %q and %q, want %q and %q", i, a, b, least, greatest)
		}
	}
	return index.NumPages()
}
