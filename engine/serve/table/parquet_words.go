package table

import (
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// words is a column of strings without nulls in a Parquet file. The column of the library looks each value up
// in its dictionary, and compares all values of a page to find its minimum and maximum. For samples, this is
// two thirds of the work. This one looks up each word of a batch once, and compares the different words of a
// page:
//
//	Vector.Codes ─put─▶ indexes of a page ─▶ the library's encoder
//	Vector.Words ─────▶ the library's dictionary
//
// It wraps the library's type, dictionary, buffer and page. All four are needed, because each creates another one.
type words struct {
	// values are the words of the batch, by code. indexes are their indexes in the dictionary of the row
	// group, or -1 before the first use.
	values  []parquet.Value
	indexes []int32
	codes   []uint32 // of the rows that are being written
}

// begin begins a batch. The dictionary may be a new one.
func (c *words) begin(v *Vector) {
	c.values, c.indexes = c.values[:0], c.indexes[:0]
	for _, w := range v.Words {
		c.values, c.indexes = append(c.values, textValue(w)), append(c.indexes, -1)
	}
}

// put writes the rows with the given codes to the column.
func (c *words) put(column *parquet.ColumnWriter, codes []uint32) error {
	c.codes = codes
	_, err := column.WriteRowValues(nil) // the buffer takes the rows from c.codes
	c.codes = nil
	return err
}

// index returns the index of a word in the dictionary.
func (c *words) index(dictionary parquet.Dictionary, code uint32) int32 {
	if c.indexes[code] < 0 {
		dictionary.Insert(c.indexes[code:code+1], c.values[code:code+1])
	}
	return c.indexes[code]
}

// wordsType is the type of the column in the schema.
type wordsType struct {
	parquet.Type
	words *words
}

// NewDictionary implements parquet.Type.
func (t wordsType) NewDictionary(column, n int, data encoding.Values) parquet.Dictionary {
	return wordsDictionary{t.Type.NewDictionary(column, n, data), t.words}
}

// wordsDictionary is the library's dictionary with another type of columns.
type wordsDictionary struct {
	parquet.Dictionary
	words *words
}

// Type implements parquet.Dictionary.
func (d wordsDictionary) Type() parquet.Type { return wordsIndexType{d.Dictionary.Type(), d} }

// wordsIndexType is the type of a column of indexes in a dictionary.
type wordsIndexType struct {
	parquet.Type
	dictionary wordsDictionary
}

// NewColumnBuffer implements parquet.Type.
func (t wordsIndexType) NewColumnBuffer(column, _ int) parquet.ColumnBuffer {
	return &wordsBuffer{ColumnBuffer: t.Type.NewColumnBuffer(column, 0), dictionary: t.dictionary}
}

// wordsBuffer holds the indexes of the words of a page. The library's buffer in it stays empty.
type wordsBuffer struct {
	parquet.ColumnBuffer
	dictionary wordsDictionary
	indexes    []int32
	used       []bool // by index: the words of the page
}

// WriteValues implements parquet.ColumnBuffer. It appends the rows that words.put has prepared.
func (b *wordsBuffer) WriteValues([]parquet.Value) (int, error) {
	codes := b.dictionary.words.codes
	for i := 0; i < len(codes); {
		j := i + 1
		for j < len(codes) && codes[j] == codes[i] {
			j++
		}
		index := b.dictionary.words.index(b.dictionary.Dictionary, codes[i])
		for int(index) >= len(b.used) {
			b.used = append(b.used, false)
		}
		b.used[index] = true
		b.indexes = appendTimes(b.indexes, index, j-i)
		i = j
	}
	return len(codes), nil
}

// Len implements parquet.ColumnBuffer.
func (b *wordsBuffer) Len() int { return len(b.indexes) }

// Cap implements parquet.ColumnBuffer.
func (b *wordsBuffer) Cap() int { return cap(b.indexes) }

// Size implements parquet.ColumnBuffer.
func (b *wordsBuffer) Size() int64 { return 4 * int64(len(b.indexes)) }

// Reset implements parquet.ColumnBuffer.
func (b *wordsBuffer) Reset() { b.indexes, b.used = b.indexes[:0], b.used[:0] }

// Page implements parquet.ColumnBuffer.
func (b *wordsBuffer) Page() parquet.Page { return wordsPage{b.ColumnBuffer.Page(), b} }

// wordsPage is the page of a buffer.
type wordsPage struct {
	parquet.Page
	b *wordsBuffer
}

// Data implements parquet.Page.
func (p wordsPage) Data() encoding.Values { return encoding.Int32Values(p.b.indexes) }

// NumRows implements parquet.Page.
func (p wordsPage) NumRows() int64 { return int64(len(p.b.indexes)) }

// NumValues implements parquet.Page.
func (p wordsPage) NumValues() int64 { return int64(len(p.b.indexes)) }

// Size implements parquet.Page.
func (p wordsPage) Size() int64 { return p.b.Size() }

// Bounds implements parquet.Page.
func (p wordsPage) Bounds() (least, greatest parquet.Value, ok bool) {
	var different []int32
	for index, used := range p.b.used {
		if used {
			different = append(different, int32(index))
		}
	}
	least, greatest = p.b.dictionary.Bounds(different)
	return least, greatest, len(different) > 0
}
