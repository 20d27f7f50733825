package pva

import (
	"strconv"
	"strings"

	"varve.dev/varve/engine/pva/proto"
)

// selection is a set of fields of a structure. A selection without names has all fields.
type selection struct {
	names   []string
	members []*selection
}

// maxPath is the maximum number of names in a path. It is more than any structure in use has,
// and within the limits of a type.
const maxPath = 8

// parseSelection parses a list of fields, such as value,alarm.severity. An empty list selects
// all fields.
func parseSelection(fields string) *selection {
	s := &selection{}
	for path := range strings.SplitSeq(fields, ",") {
		if path = strings.TrimSpace(path); path != "" {
			names := strings.Split(path, ".")
			s.add(names[:min(len(names), maxPath)])
		}
	}
	return s
}

func (s *selection) add(path []string) {
	for i, name := range s.names {
		if name != path[0] {
			continue
		}
		switch m := s.members[i]; {
		case len(path) == 1:
			*m = selection{}
		case len(m.names) > 0: // otherwise the whole member is already selected
			m.add(path[1:])
		}
		return
	}
	m := &selection{}
	s.names, s.members = append(s.names, path[0]), append(s.members, m)
	if len(path) > 1 {
		m.add(path[1:])
	}
}

// member returns the selected fields of a member, or nil if no field of the member is
// selected. s may be nil.
func (s *selection) member(name string) *selection {
	if s == nil || len(s.names) == 0 {
		return s
	}
	for i, n := range s.names {
		if n == name {
			return s.members[i]
		}
	}
	return nil
}

// prune returns type t without the fields that are not selected. It returns nil if no field is
// selected.
func (s *selection) prune(t *proto.Type) *proto.Type {
	if s == nil || t == nil || len(s.names) == 0 {
		if s == nil {
			return nil
		}
		return t
	}
	if t.Code != proto.Struct {
		return nil // the type has no members
	}
	var members []any
	for i, m := range t.Members {
		if p := s.member(t.Names[i]).prune(m); p != nil {
			members = append(members, t.Names[i], p)
		}
	}
	if len(members) == 0 {
		return nil
	}
	return proto.NewStruct(t.ID, members...)
}

// structure returns the part of a pvRequest that names the selected fields.
func (s *selection) structure() *proto.Type {
	var members []any
	for i, name := range s.names {
		members = append(members, name, s.members[i].structure())
	}
	return proto.NewStruct("", members...)
}

// request is a pvRequest: the fields and options of a MONITOR.
type request struct {
	fields string
	wanted *selection
	typ    *proto.Type
	value  []byte
}

// newRequest returns a request for fields. With it, the server keeps a queue of updates. If
// the monitor is pipelined, the server also waits for acknowledgements.
func newRequest(fields string, queueSize int, pipeline bool) *request {
	s := parseSelection(fields)
	text := proto.Of(proto.String)
	options := []any{"queueSize", text}
	value := proto.AppendString(nil, strconv.Itoa(queueSize), proto.LittleEndian)
	if pipeline {
		options = append(options, "pipeline", text)
		value = proto.AppendString(value, "true", proto.LittleEndian)
	}
	return &request{
		fields: fields, wanted: s, value: value,
		typ: proto.NewStruct("", "field", s.structure(), "record", proto.NewStruct("", "_options", proto.NewStruct("", options...))),
	}
}
