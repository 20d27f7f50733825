// Package channellist is the form in which channels go from the operator to the
// engines: compressed lists, named by the hash of their content, in ConfigMaps
// that never change.
//
//	operator: channels of a shard ──split──▶ parts ──Encode──▶ Lists ──▶ ConfigMaps, references in an ArchiveShard
//	engine:                                channels ◀──Decode── bytes ◀── ConfigMap
//
// docs/format/channel-list.md draws the bytes.
package channellist

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cespare/xxhash/v2"

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

// MaxSize of a list, in bytes. A ConfigMap holds 1 MiB.
const MaxSize = 900 << 10

// Limits of a list's body, before compression. maxPart is below MaxSize, so
// that what can not be compressed fits too.
const (
	maxPart = 880 << 10
	// meanPart is the mean number of channels of a part.
	meanPart = 32 << 10
)

// Encode returns the lists of a shard's channels, which must be ordered by PV,
// each PV once; or of PVs to be deleted, which have no Settings. Equal channels
// give equal lists, in every process. No channels give no lists.
//
// A list ends at a PV whose name says so, if it is not full before. So what is
// added or removed changes the lists around it, not all that follow.
func Encode(channels []capture.Channel) []List {
	var lists []List
	p := newPart()
	flush := func() {
		if p.channels > 0 {
			data := compress(p.body())
			lists = append(lists, List{Name: Hash(data), Data: data, Channels: p.channels})
			p = newPart()
		}
	}
	for i := range channels {
		ch := &channels[i]
		if i > 0 && ch.PV <= channels[i-1].PV {
			panic("BUG: encoding channels that are not in order")
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

// isEnd reports whether a list ends after a PV. It takes the upper half of the
// hash: the lower one chose the shard.
func isEnd(pv string) bool { return uint32(xxhash.Sum64String(pv)>>32)%meanPart == 0 }

// Hash names data: 20 hexadecimal digits of its SHA-256.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:10])
}
