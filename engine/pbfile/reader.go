package pbfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"varve.dev/varve/engine/sample"
)

// MaxLine is the length in bytes of the longest line that is read: a value of 16 MiB of which each
// byte is escaped, and room for fields.
const MaxLine = 40 << 20

// Problem is a part of a file that cannot be read.
type Problem struct {
	// Offset is the number of bytes before the line.
	Offset int64
	// Err is the reason.
	Err error
}

// Change has the fields that a sample brings new values of.
type Change struct {
	// Time is the time of the sample, and Previous that of the sample before it in the file, or 0.
	// Both are in ns since 1970.
	Time, Previous int64
	Fields         []Field
}

// Reader reads one file. The caller sets the exported fields before it calls Header.
type Reader struct {
	// Within is the partition of the file. Samples at other times are problems. If it is empty, all
	// times of the header's year are allowed.
	Within Partition
	// Problem is called with each line that cannot be read. It may be nil.
	Problem func(Problem)
	// Change is called with the fields of each sample that has any. It may be nil.
	Change func(Change)

	in      *bufio.Reader
	header  Header
	start   int64
	offset  int64 // of the line after the current one
	line    []byte
	scratch []byte
	event   event
	last    int64
	bad     int
	ended   bool
	unread  []byte // the line that readLine returns next, or nil
}

// NewReader returns a reader of a file.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, 256<<10)} }

// Offset returns the number of bytes up to the end of the last line that was read.
func (r *Reader) Offset() int64 { return r.offset }

// Problems returns the number of lines that could not be read.
func (r *Reader) Problems() int { return r.bad }

// ErrEmpty means that a file has no whole line.
var ErrEmpty = errors.New("the file has no whole line")

// Header reads the first line. After an error, no sample can be read: their times and their type are
// unknown.
func (r *Reader) Header() (Header, error) {
	line, err := r.readLine()
	if err == nil {
		line, err = r.plain(line)
	}
	if errors.Is(err, io.EOF) {
		return Header{}, ErrEmpty
	}
	if err != nil {
		return Header{}, fmt.Errorf("reading the header: %w", err)
	}
	if r.header, err = parseHeader(line); err != nil {
		return Header{}, fmt.Errorf("reading the header: %w", err)
	}
	r.start = r.header.start()
	return r.header, nil
}

// readBytes is the size of strings or arrays after which Read adds no further sample.
const readBytes = 8 << 20

// Read appends at most n samples to a run, which must have the type of the header, and fewer if they
// are large: up to 24 MiB in all. It returns io.EOF
// after the last sample, and another error only if the file itself cannot be read. An answer of
// getData.raw has several headers: Read returns ErrNextChunk after the empty line before each further
// one, and the caller calls Next.
func (r *Reader) Read(run *sample.Run, n int) error {
	full := len(run.Bytes) + readBytes
	for added := 0; added < n && len(run.Bytes) < full; {
		at := r.offset
		line, err := r.readLine()
		switch {
		case errors.Is(err, errLong):
			r.report(at, err)
			continue
		case err != nil:
			return err
		case len(line) == 0:
			return ErrNextChunk
		}
		if err := r.add(run, line); err != nil {
			r.report(at, err)
			continue
		}
		added++
	}
	return nil
}

func (r *Reader) report(at int64, err error) {
	r.bad++
	if r.Problem != nil {
		r.Problem(Problem{Offset: at, Err: err})
	}
}

// add parses a line and appends its sample.
func (r *Reader) add(run *sample.Run, line []byte) error {
	s, err := r.parse(line)
	if err != nil {
		return err
	}
	run.Append(&s)
	if len(r.event.fields) > 0 && r.Change != nil {
		r.Change(Change{Time: s.Time, Previous: r.last, Fields: r.event.fields})
	}
	r.last = s.Time
	return nil
}

// parse returns the sample of a line, which is valid until the next call, and leaves the fields of the
// sample in r.event.
func (r *Reader) parse(line []byte) (s sample.Sample, err error) {
	if r.header.Type == sample.Unknown {
		return s, errNoType
	}
	msg, err := r.plain(line)
	if err != nil {
		return s, err
	}
	e := &r.event
	e.reset()
	if err := e.parse(msg, r.header.Type); err != nil {
		return s, err
	}
	tag, err := e.tag()
	if err != nil {
		return s, err
	}
	t, err := r.time(e)
	return sample.Sample{Time: t, Tag: tag, Word: e.word, Bytes: e.value}, err
}

// time returns the time of an event in ns since 1970.
func (r *Reader) time(e *event) (int64, error) {
	const second, day, leapYear = int64(1e9), 86400, 366
	if e.seconds >= leapYear*day || e.nanos >= uint64(second) {
		return 0, fmt.Errorf("the time, second %d of the year and %d ns, does not exist", e.seconds, e.nanos)
	}
	t := r.start + int64(e.seconds)*second + int64(e.nanos)
	if !r.Within.IsZero() && (t < r.Within.Start || t >= r.Within.End) {
		return 0, errors.New("the time is outside of the partition in the name of the file")
	}
	return t, nil
}

// plain returns a line without escapes. It is valid until the next call.
func (r *Reader) plain(line []byte) ([]byte, error) {
	if bytes.IndexByte(line, escape) < 0 {
		return line, nil
	}
	var err error
	r.scratch, err = unescape(r.scratch[:0], line)
	return r.scratch, err
}

// errNoType is the problem of lines for which no header gives a type that Varve can store.
var errNoType = errors.New("the header before the line is damaged, or its type cannot be stored")

// errLong means that a line is too long to be a sample. The reader has skipped it.
var errLong = fmt.Errorf("the line has more than %d MiB", MaxLine>>20)

// errOpenEnd is the problem of a last line without a line feed.
var errOpenEnd = errors.New("the last line has no end: the file was cut, or is being written")

// readLine returns the next line without its line feed, valid until the next call. It returns
// io.EOF at the end.
func (r *Reader) readLine() ([]byte, error) {
	if r.ended {
		return nil, io.EOF
	}
	if line := r.unread; line != nil {
		r.unread = nil
		r.offset += int64(len(line)) + 1
		return line, nil
	}
	part, err := r.in.ReadSlice('\n')
	if err == nil {
		r.offset += int64(len(part))
		return part[:len(part)-1], nil
	}
	r.line = r.line[:0]
	size := int64(0)
	for {
		size += int64(len(part))
		if size <= MaxLine {
			r.line = append(r.line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = r.in.ReadSlice('\n')
	}
	switch {
	case errors.Is(err, io.EOF):
		r.ended = true
		if size > 0 {
			r.report(r.offset, errOpenEnd)
		}
		return nil, io.EOF
	case err != nil:
		return nil, err
	}
	if r.offset += size; size > MaxLine {
		r.line = nil
		return nil, errLong
	}
	return r.line[:size-1], nil
}
