package csvfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the length in bytes of the longest line that is read.
const MaxLine = 16 << 20

// Errors of lines.
var (
	errLong    = fmt.Errorf("the line has more than %d MiB", MaxLine>>20)
	errOpenEnd = errors.New("the last line has no end: the file was cut, or is being written; if the line is whole, add a line end")
	errCells   = fmt.Errorf("the line has more than %d cells", maxColumns)
	errQuote   = errors.New("a quoted cell does not end before the end of the line, or text follows its closing quote")
)

// lines reads the lines of a file.
type lines struct {
	in     *bufio.Reader
	offset int64 // of the line after the current one
	number int   // of the current line; the first one is 1
	long   []byte
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 256<<10)} }

// next returns the next line without its end, valid until the next call. After errLong, the following line can be read.
// A last line without an end is errOpenEnd. After the last line, the error is io.EOF.
func (l *lines) next() ([]byte, error) {
	part, err := l.in.ReadSlice('\n')
	if err == nil {
		l.offset += int64(len(part))
		l.number++
		return l.trim(part[:len(part)-1]), nil
	}
	l.long = l.long[:0]
	size := int64(0)
	for {
		if size += int64(len(part)); size <= MaxLine {
			l.long = append(l.long, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = l.in.ReadSlice('\n')
	}
	switch {
	case errors.Is(err, io.EOF) && size == 0:
		return nil, io.EOF
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	l.offset += size
	l.number++
	switch {
	case err != nil:
		return nil, errOpenEnd
	case size > MaxLine:
		l.long = nil
		return nil, errLong
	}
	return l.trim(l.long[:size-1]), nil
}

// trim removes a carriage return at the end, and a byte order mark at the beginning of the file.
func (l *lines) trim(line []byte) []byte {
	if l.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return bytes.TrimSuffix(line, []byte("\r"))
}

// split appends the cells of a line, a few more than maxColumns at most. They are valid as long as the line, which split changes if
// it has quotes.
func split(cells [][]byte, line []byte, separator byte) ([][]byte, error) {
	for {
		if len(cells) > maxColumns {
			return cells, errCells
		}
		if len(line) > 0 && line[0] == '"' {
			cell, rest, err := quoted(line[1:])
			if err != nil {
				return cells, err
			}
			cells = append(cells, cell)
			switch {
			case len(rest) == 0:
				return cells, nil
			case rest[0] != separator:
				return cells, errQuote
			}
			line = rest[1:]
			continue
		}
		i := bytes.IndexByte(line, separator)
		if i < 0 {
			return append(cells, line), nil
		}
		cells, line = append(cells, line[:i]), line[i+1:]
	}
}

// quoted returns the cell whose opening quote was read, and what follows its closing quote. Two quotes in a cell stand for
// one.
func quoted(line []byte) (cell, rest []byte, err error) {
	to := 0
	for from := 0; from < len(line); from++ {
		if line[from] == '"' {
			if from+1 == len(line) || line[from+1] != '"' {
				return line[:to], line[from+1:], nil
			}
			from++
		}
		line[to] = line[from]
		to++
	}
	return nil, nil, errQuote
}

// blank reports whether a line has no row: it is empty, or a comment.
func blank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}
