package proto_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// TestRecordedSessions decodes sessions between other programs, which testdata/record.py has
// recorded. It must decode every byte. Messages that Varve also sends must have the same
// encoding. The values must be equal to those that the client read.
func TestRecordedSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.session.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no sessions", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".session.txt"), func(t *testing.T) { replay(t, file) })
	}
}

func replay(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := session{T: t, sids: map[uint32]string{}, cids: map[uint32]string{}, ops: map[uint32]*operation{}, values: map[string][][]byte{}, seen: map[string]int{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch kind, text, _ := strings.Cut(lines.Text(), " "); kind {
		case "t>", "t<", "u>", "u<":
			s.frame(kind, text)
		case "=":
			name, want, _ := strings.Cut(text, " ")
			s.compare(name, want)
		}
	}
	if strings.Contains(file, "pvaccesscpp") && (s.seen["overrun"] == 0 || s.seen["numbered type"] == 0) {
		t.Errorf("the session has %d overruns and %d numbered types", s.seen["overrun"], s.seen["numbered type"])
	}
	for _, kind := range []string{
		"u> SEARCH", "u< SEARCH_RESPONSE", "u< BEACON", "t< CONNECTION_VALIDATION", "t> CONNECTION_VALIDATION", "t< CONNECTION_VALIDATED",
		"t> CREATE_CHANNEL", "t< CREATE_CHANNEL", "t> GET", "t< GET", "t> MONITOR", "t< MONITOR", "=",
	} {
		if s.seen[kind] == 0 {
			t.Errorf("there is no %s in the session", kind)
		}
	}
}

// session holds the state that both sides of a connection share.
type session struct {
	*testing.T
	types      [2]proto.Types // types of the client and of the server
	cids, sids map[uint32]string
	ops        map[uint32]*operation
	values     map[string][][]byte // stored structures by PV
	seen       map[string]int
}

type operation struct {
	name  string
	typ   *proto.Type
	value []byte
}

func (s *session) frame(kind, digits string) {
	b, err := hex.DecodeString(digits)
	if err != nil {
		s.Fatal(err)
	}
	var h proto.Header
	payload, n, err := proto.ReadFrame(b, &h, 1<<24)
	if err != nil || n != len(b) || h.Version != proto.Version || (h.Flags&proto.FlagServer != 0) != (kind[1] == '<') {
		s.Fatalf("%s %s: %+v, %v", kind, digits, h, err)
	}
	if c, ok := h.Control(); ok {
		s.same(kind, b, proto.AppendControl(nil, c, h.Flags&^proto.FlagControl, h.Size))
		return
	}
	name := kind + " " + h.Command.String()
	s.seen[name]++
	r := proto.NewReader(payload, h.Order())
	var again []byte
	if kind[1] == '>' {
		again = s.client(h, &r)
	} else {
		again = s.server(h, &r)
	}
	if r.Err() != nil || r.Len() > 0 {
		s.Fatalf("%s %s: %d bytes are left, %v", name, digits, r.Len(), r.Err())
	}
	if again != nil {
		s.same(name, b, again)
	}
}

func (s *session) same(name string, want, got []byte) {
	if !bytes.Equal(want, got) {
		s.Errorf("%s is encoded as\n%x, want\n%x", name, got, want)
	}
}

// client decodes a message of the client and returns it in Varve's own encoding.
func (s *session) client(h proto.Header, r *proto.Reader) []byte {
	switch h.Command {
	case proto.CmdSearch:
		return s.search(h, r)
	case proto.CmdConnectionValidate:
		v, _ := proto.ParseLogin(r, &s.types[0])
		return proto.AppendLogin(nil, &v, h.Flags)
	case proto.CmdCreateChannel:
		channels, _ := proto.ParseCreateChannel(r)
		s.cids[channels[0].CID] = channels[0].Name
		return proto.AppendCreateChannel(nil, channels[0].CID, channels[0].Name, h.Flags)
	case proto.CmdDestroyChannel:
		sid, cid, _ := proto.ParseDestroyChannel(r)
		return proto.AppendDestroyChannel(nil, sid, cid, h.Flags)
	case proto.CmdDestroyRequest:
		return proto.AppendDestroyRequest(nil, r.Uint32(), r.Uint32(), h.Flags)
	case proto.CmdGetField:
		sid, ioid := r.Uint32(), r.Uint32()
		return proto.AppendGetField(nil, sid, ioid, string(r.String()), h.Flags)
	case proto.CmdGet, proto.CmdPut, proto.CmdMonitor:
		return s.request(h, r)
	}
	s.Fatalf("client sends %v", h.Command)
	return nil
}

func (s *session) search(h proto.Header, r *proto.Reader) []byte {
	v, _ := proto.ParseSearch(r)
	if len(v.Protocols) != 1 {
		return nil
	}
	b := proto.AppendSearchHead(nil, v.Sequence, v.Flags, v.ReplyTo, h.Flags)
	for _, c := range v.Channels {
		b = proto.AppendSearchChannel(b, c.CID, c.Name, h.Order())
	}
	return proto.FinishSearch(b, 0, len(v.Channels))
}

func (s *session) request(h proto.Header, r *proto.Reader) []byte {
	q := proto.ParseRequest(r)
	if q.Sub&proto.SubInit != 0 {
		typ := r.Type(&s.types[0])
		value := r.Value(nil, typ, &s.types[0])
		var window uint32
		if q.Sub&proto.SubPipeline != 0 {
			window = r.Uint32()
		}
		s.ops[q.IOID] = &operation{name: s.sids[q.SID]}
		if h.Order() == proto.BigEndian {
			return nil
		}
		return proto.AppendInit(nil, h.Command, q, typ, value, window, h.Flags)
	}
	op := s.ops[q.IOID]
	switch {
	case h.Command == proto.CmdPut && q.Sub&proto.SubGet == 0:
		s.update(op, r)
		return nil
	case q.Sub&proto.SubPipeline != 0:
		return proto.AppendAck(nil, q.SID, q.IOID, r.Uint32(), h.Flags)
	}
	return proto.AppendRequest(nil, h.Command, q, h.Flags)
}

// server decodes a message of the server and returns it in Varve's own encoding.
func (s *session) server(h proto.Header, r *proto.Reader) []byte {
	switch h.Command {
	case proto.CmdSearchResponse:
		v, _ := proto.ParseSearchResponse(r)
		return proto.AppendSearchResponse(nil, &v, h.Flags)
	case proto.CmdBeacon:
		v, _ := proto.ParseBeacon(r)
		r.Uint8() // no status
		return proto.AppendBeacon(nil, &v, h.Flags)
	case proto.CmdConnectionValidate:
		v, _ := proto.ParseOffer(r)
		return proto.AppendOffer(nil, &v, h.Flags)
	case proto.CmdConnectionValidated:
		return proto.AppendValidated(nil, r.Status(), h.Flags)
	case proto.CmdCreateChannel:
		v, _ := proto.ParseCreated(r)
		s.sids[v.SID] = s.cids[v.CID]
		return proto.AppendCreated(nil, &v, h.Flags)
	case proto.CmdDestroyChannel:
		sid, cid, _ := proto.ParseDestroyChannel(r)
		return proto.AppendDestroyChannel(nil, sid, cid, h.Flags)
	case proto.CmdMessage:
		v, _ := proto.ParseMessage(r)
		return proto.AppendMessage(nil, &v, h.Flags)
	case proto.CmdGet, proto.CmdPut, proto.CmdMonitor, proto.CmdGetField:
		return s.answer(h, r)
	}
	s.Fatalf("server sends %v", h.Command)
	return nil
}

func (s *session) answer(h proto.Header, r *proto.Reader) []byte {
	a := proto.ParseAnswer(r, h.Command)
	op := s.ops[a.IOID]
	var status proto.Status
	if a.HasStatus(h.Command) {
		status = r.Status()
	}
	switch {
	case status.Err() != nil:
	case h.Command == proto.CmdGetField || a.Sub&proto.SubInit != 0:
		before := r.Len()
		typ := r.Type(&s.types[1])
		op.typ, op.value = typ, proto.AppendZero(nil, typ)
		if len(proto.AppendType(nil, typ, h.Order())) != before {
			s.seen["numbered type"]++
			return nil
		}
		return proto.AppendInitAnswer(nil, h.Command, a, status, typ, h.Flags)
	case h.Command == proto.CmdPut && a.Sub&proto.SubGet == 0:
	case r.Len() > 0:
		s.update(op, r)
		s.values[op.name] = append(s.values[op.name], append(proto.AppendType(nil, op.typ, proto.LittleEndian), op.value...))
		if h.Command == proto.CmdMonitor && !r.BitSet(nil).Empty() {
			s.seen["overrun"]++
		}
	}
	return nil
}

func (s *session) update(op *operation, r *proto.Reader) {
	changed := r.BitSet(nil)
	old := proto.NewReader(op.value, proto.LittleEndian)
	op.value = s.field(nil, op.typ, 0, changed, &old, r)
}

// field appends the field with a number: the new value if the field has changed, otherwise the
// old one.
func (s *session) field(dst []byte, t *proto.Type, number int, changed proto.BitSet, old, r *proto.Reader) []byte {
	if changed.Has(number) {
		old.Value(nil, t, nil)
		return r.Value(dst, t, &s.types[1])
	}
	if t.Code != proto.Struct {
		return old.Value(dst, t, nil)
	}
	number++
	for _, m := range t.Members {
		dst = s.field(dst, m, number, changed, old, r)
		number += m.Fields()
	}
	return dst
}

// compare finds the next value of a PV that equals the value that the client read. It may skip
// one earlier value per PV, which an update overwrote in the client's queue.
func (s *session) compare(name, want string) {
	s.seen["="]++
	wanted := decode(s.T, want)
	var diff string
	for len(s.values[name]) > 0 {
		run := sample.Run{Type: sample.Struct}
		run.Append(&sample.Sample{Bytes: s.values[name][0]})
		s.values[name] = s.values[name][1:]
		if diff = cmp.Diff(wanted, decode(s.T, string(value.Quoted.Append(nil, &run, 0)))); diff == "" {
			return
		}
		if s.seen["= "+name]++; s.seen["= "+name] > 1 {
			break
		}
	}
	s.Errorf("%s (-read by the client +ours):\n%s", name, diff)
}

func decode(t *testing.T, text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
