package channellist

import (
	"encoding/binary"

	"varve.dev/varve/engine/capture"
)

// part collects the channels of one list.
type part struct {
	channels int
	previous string // name of the last channel

	classes, groups      []byte // tables, without their counts
	classOf              map[*capture.Settings]int
	classAt              map[string]int
	groupAt              map[string]int
	names                []byte
	classIndex, groupRef []byte
	other                []byte // former names and aliases, without the number of their channels
	named                int    // channels with former names or aliases
}

func newPart() *part {
	return &part{classOf: map[*capture.Settings]int{}, classAt: map[string]int{}, groupAt: map[string]int{}}
}

// fits reports whether the body stays below maxPart with another channel. It assumes that the
// channel shares no prefix, settings or group with others.
func (p *part) fits(ch *capture.Channel) bool {
	const numbers = 8 * binary.MaxVarintLen32
	size := len(p.classes) + len(p.groups) + len(p.names) + len(p.classIndex) + len(p.groupRef) + len(p.other) + sizeOfNames(ch.Names)
	if _, known := p.classOf[ch.Settings]; !known {
		size += maxClass
	}
	return size+len(ch.PV)+len(ch.Group)+numbers <= maxPart
}

// Limits of table entries in bytes, above their real sizes.
const (
	maxClass = 6 << 10
	maxGroup = 512
)

func (p *part) add(ch *capture.Channel) {
	shared := 0
	for shared < len(p.previous) && shared < len(ch.PV) && p.previous[shared] == ch.PV[shared] {
		shared++
	}
	p.names = binary.AppendUvarint(p.names, uint64(shared))
	p.names = appendBytes(p.names, ch.PV[shared:])
	p.classIndex = binary.AppendUvarint(p.classIndex, uint64(p.class(ch.Settings)))
	p.groupRef = binary.AppendUvarint(p.groupRef, uint64(p.group(ch.Group)))
	p.addNames(ch.Names)
	p.previous = ch.PV
	p.channels++
}

// class returns the index of settings. Equal settings have the same index, even if they are
// separate copies.
func (p *part) class(s *capture.Settings) int {
	if i, known := p.classOf[s]; known {
		return i
	}
	text := encodeClass(s)
	i, known := p.classAt[string(text)]
	if !known {
		i = len(p.classAt)
		p.classAt[string(text)] = i
		p.classes = appendBytes(p.classes, text)
	}
	p.classOf[s] = i
	return i
}

func (p *part) group(name string) int {
	i, known := p.groupAt[name]
	if !known {
		i = len(p.groupAt)
		p.groupAt[name] = i
		p.groups = appendBytes(p.groups, name)
	}
	return i
}

// body returns the body before compression.
func (p *part) body() []byte {
	var out []byte
	out = binary.AppendUvarint(out, uint64(len(p.classAt)))
	out = append(out, p.classes...)
	out = binary.AppendUvarint(out, uint64(len(p.groupAt)))
	out = append(out, p.groups...)
	out = binary.AppendUvarint(out, uint64(p.channels))
	out = append(out, p.names...)
	out = append(out, p.classIndex...)
	out = append(out, p.groupRef...)
	if p.named > 0 {
		out = append(binary.AppendUvarint(out, uint64(p.named)), p.other...)
	}
	return out
}

// version returns the version of the list.
func (p *part) version() byte {
	if p.named > 0 {
		return versionNames
	}
	return version
}

func appendBytes[T string | []byte](dst []byte, b T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}
