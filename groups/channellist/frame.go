package channellist

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// magic begins every list; a version follows it. Version 2 has the former names and aliases of channels. A list
// without any has version 1, so that its name stays.
const (
	magic             = "VCL"
	version      byte = 1
	versionNames byte = 2
)

// maxBody is the maximum size of a body. Encode never writes a longer one; the limit protects
// against data that expands without end.
const maxBody = 1 << 20

// encoder has a fixed level, and fixed values of all other options that affect the bytes,
// because the names of lists depend on the bytes. TestBytes detects a library version that
// compresses differently.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(maxBody), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		panic("BUG: invalid options of zstd: " + err.Error())
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderMaxWindow(maxBody))
	if err != nil {
		panic("BUG: invalid options of zstd: " + err.Error())
	}
	return d
})

// compress returns the encoded list of a body.
func compress(body []byte, version byte) []byte {
	out := append(make([]byte, 0, len(body)/2), magic...)
	return encoder().EncodeAll(body, append(out, version))
}

// decompress returns the body of a list, and its version.
func decompress(data []byte) (body []byte, v byte, err error) {
	if len(data) < len(magic)+1 || string(data[:len(magic)]) != magic {
		return nil, 0, errors.New("it does not start like a channel list")
	}
	if v = data[len(magic)]; v != version && v != versionNames {
		return nil, 0, fmt.Errorf("it has version %d, but this program reads versions %d and %d", v, version, versionNames)
	}
	body, err = decoder().DecodeAll(data[len(magic)+1:], nil)
	if err != nil {
		return nil, 0, fmt.Errorf("decompressing: %w", err)
	}
	if len(body) > maxBody {
		return nil, 0, fmt.Errorf("it decompresses to %d bytes, more than the limit of %d", len(body), maxBody)
	}
	return body, v, nil
}
