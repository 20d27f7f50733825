// Package channellist encodes the channels that the operator assigns to shards, for the
// engines and the retrieval pods. Channel lists are compressed, named by the hash of their
// content, and stored in immutable ConfigMaps:
//
//	operator: channels of a shard ──split──▶ parts ──Encode──▶ Lists ──▶ ConfigMaps, references in an ArchiveShard
//	engine:                                channels ◀──Decode── bytes ◀── ConfigMap
//
// docs/format/channel-list.md describes the bytes.
package channellist

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/engine/capture"
)

// List is an encoded part of a shard's channels.
type List struct {
	// Name is the Hash of Data.
	Name string
	Data []byte
	// Channels is the number of channels in Data.
	Channels int
}

// MaxSize is the maximum size of a list in bytes. A ConfigMap holds 1 MiB.
const MaxSize = 900 << 10

// Limits of a list's body before compression. maxPart is below MaxSize, so that an
// incompressible body fits, too.
const (
	maxPart = 880 << 10
	// meanPart is the mean number of channels of a part.
	meanPart = 32 << 10
)

// Encode encodes a shard's channels, or PVs whose data must be deleted. PVs to delete have no
// Settings. The channels must be sorted by PV, without duplicates. Equal channels give equal
// lists in every process. Encode returns no lists if there are no channels.
//
// A list ends when it is full, or after a PV whose hash marks the end of a list. An added or
// removed channel therefore changes only the lists around it, not all lists that follow.
func Encode(channels []capture.Channel) []List {
	var lists []List
	p := newPart()
	flush := func() {
		if p.channels > 0 {
			data := compress(p.body(), p.version())
			lists = append(lists, List{Name: Hash(data), Data: data, Channels: p.channels})
			p = newPart()
		}
	}
	for i := range channels {
		ch := &channels[i]
		if i > 0 && ch.PV <= channels[i-1].PV {
			panic("BUG: encoding channels that are not sorted")
		}
		if !p.fits(ch) {
			flush()
		}
		p.add(ch)
		if isEnd(ch.PV) {
			flush()
		}
	}
	flush()
	return lists
}

// isEnd reports whether a list ends after a PV. It uses the upper half of the hash, because
// the lower half selects the shard.
func isEnd(pv string) bool { return uint32(xxhash.Sum64String(pv)>>32)%meanPart == 0 }

// Hash returns the name of data: the first 20 hexadecimal digits of its SHA-256.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:10])
}
