package files

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// chunkBytes is the size of the pieces of a content. A file grows without being copied.
const chunkBytes = 256 << 10

// content is the bytes of a file. One goroutine writes it, and afterwards many may read it.
type content struct {
	chunks [][]byte
	size   int64
	hash   hash.Hash
	// reserve returns an error if there is no memory for another chunk.
	reserve func() error
}

func newContent(reserve func() error) *content { return &content{hash: sha256.New(), reserve: reserve} }

// Write implements io.Writer.
func (c *content) Write(p []byte) (int, error) {
	c.hash.Write(p)
	for rest := p; len(rest) > 0; {
		i, used := int(c.size/chunkBytes), c.size%chunkBytes
		if i == len(c.chunks) {
			if err := c.reserve(); err != nil {
				return 0, err
			}
			c.chunks = append(c.chunks, make([]byte, chunkBytes))
		}
		n := copy(c.chunks[i][used:], rest)
		c.size += int64(n)
		rest = rest[n:]
	}
	return len(p), nil
}

// ReadAt implements io.ReaderAt.
func (c *content) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) && at < c.size {
		chunk := c.chunks[at/chunkBytes]
		k := copy(p[n:min(len(p), n+int(c.size-at))], chunk[at%chunkBytes:])
		n, at = n+k, at+int64(k)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// etag returns the strong ETag of the content.
func (c *content) etag() string { return `"` + hex.EncodeToString(c.hash.Sum(nil)[:16]) + `"` }

// restart empties the content. It keeps the memory.
func (c *content) restart() {
	c.size = 0
	c.hash.Reset()
}
