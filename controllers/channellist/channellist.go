// Package channellist is the form in which channels go from the operator to the
// engines: compressed lists, named by the hash of their content, in ConfigMaps
// that never change.
//
//	operator: channels of a shard ──Encode──▶ Lists ──▶ ConfigMaps, references in an ArchiveShard
//	engine:                 channels ◀──Decode── bytes ◀── ConfigMap
//
// docs/format/channel-list.md draws the bytes.
package channellist

import (
	"crypto/sha256"
	"encoding/hex"

	"varve.dev/varve/engine/capture"
)

// List is a part of a shard's channels, as bytes.
type List struct {
	// Name is Hash of Data.
	Name string
	Data []byte
	// Channels is the number of channels in Data.
	Channels int
}

// Encode returns the lists of a shard's channels, which must be ordered by PV,
// each PV once. Equal channels give equal lists, in every process. Each list fits
// into a ConfigMap. No channels give no lists.
func Encode(channels []capture.Channel) []List {
	if len(channels) == 0 {
		return nil
	}
	return nil
}

// Decode returns the channels of a list. Channels with equal settings share them;
// they must not be changed.
func Decode(data []byte) ([]capture.Channel, error) {
	return nil, nil
}

// Hash names data: 20 hexadecimal digits of its SHA-256.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:10])
}
