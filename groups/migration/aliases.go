package migration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/groups/compile"
)

// Bounds of aliases. maxAliased is the number of channels that a group can have.
const (
	maxAliases = compile.MaxAliases
	maxAliased = 1000
)

// AddAliases reads the aliases of an Archiver Appliance, which are the answer of getAllAliases, and adds them to the channels.
func (s *Source) AddAliases(in io.Reader) error {
	d := json.NewDecoder(in)
	if first, err := d.Token(); err != nil || first != json.Delim('[') {
		return fmt.Errorf("reading the aliases: %w", errors.Join(err, errors.New("the text is not the answer of getAllAliases, a JSON list")))
	}
	type alias struct {
		AliasName string `json:"aliasName"`
		SrcPVName string `json:"srcPVName"`
	}
	pvs := map[string]string{}
	for d.More() {
		var a alias
		if err := d.Decode(&a); err != nil {
			return fmt.Errorf("reading the aliases: byte %d: %w", d.InputOffset(), err)
		}
		name, pv := pvname.Canonical(a.AliasName), pvname.Canonical(a.SrcPVName)
		if name != pv {
			pvs[name] = pv
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("reading the aliases: %w", err)
	}
	s.setAliases(pvs)
	s.normalize()
	return nil
}

// setAliases adds aliases with their PVs to the channels. It notes those that it leaves out.
func (s *Source) setAliases(pvs map[string]string) {
	at := make(map[string]*Channel, len(s.Channels))
	for i := range s.Channels {
		at[s.Channels[i].Name] = &s.Channels[i]
	}
	var names []string
	for name := range pvs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c, err := at[pvs[name]], pvname.Check(name)
		switch {
		case at[name] != nil:
			s.differ(name, "the Appliance has it as an alias of %s, and archives it, too; it is archived as a PV of its own", pvs[name])
		case err != nil:
			s.leaveOut(name, "the alias of %s cannot be a name: %v", pvs[name], err)
		case c == nil:
			s.leaveOut(name, "it is an alias of %s, which is in no group", pvs[name])
		case len(c.Aliases) == maxAliases:
			s.leaveOut(name, "it is an alias of %s, which has more than %d aliases", pvs[name], maxAliases)
		default:
			c.Aliases = append(c.Aliases, name)
		}
	}
}

// splitAliased distributes channels with aliases to groups by the hash of their names, so that a new one changes one group.
func splitAliased(channels []Channel) [][]Channel {
	for n := 1; ; n *= 2 {
		parts, most := make([][]Channel, n), 0
		for _, c := range channels {
			i := xxhash.Sum64String(c.Name) % uint64(n)
			parts[i] = append(parts[i], c)
			most = max(most, len(parts[i]))
		}
		if most <= maxAliased {
			return slices.DeleteFunc(parts, func(p []Channel) bool { return len(p) == 0 })
		}
	}
}

// writeAliased writes the channels with aliases.
func (g *Group) writeAliased(b *bytes.Buffer) {
	b.WriteString("  channels:\n")
	for _, c := range g.Aliased {
		quoted := make([]string, len(c.Aliases))
		for i, a := range c.Aliases {
			quoted[i] = fmt.Sprintf("%q", a)
		}
		fmt.Fprintf(b, "  - {name: %q, aliases: [%s]}\n", c.Name, strings.Join(quoted, ", "))
	}
}
