package migration

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// engineChannel is a channel of an engine's XML.
type engineChannel struct {
	Name    string    `xml:"name"`
	Period  string    `xml:"period"`
	Delta   string    `xml:"delta"`
	Monitor *struct{} `xml:"monitor"`
	Scan    *struct{} `xml:"scan"`
	Enable  *string   `xml:"enable"`
	Disable *struct{} `xml:"disable"`
	Other   []unknown `xml:",any"`
}

type unknown struct{ XMLName xml.Name }

// EngineXML reads the XML with which engines are configured (engineconfig): that of the RDB archiver of
// CS-Studio and Phoebus, of the Channel Archiver, and of the Cassandra archiver of CS-Studio. kind is the
// kind of the source. It holds one channel in memory beside the result.
func EngineXML(in io.Reader, kind string) (*Source, error) {
	s := &Source{Kind: kind}
	d := xml.NewDecoder(in)
	d.CharsetReader = charset
	if err := s.engine(d); err != nil {
		line, _ := d.InputPos()
		return nil, fmt.Errorf("reading the configuration of an engine: line %d: %w", line, err)
	}
	s.normalize()
	return s, nil
}

// charset decodes what is not UTF-8. In ISO 8859-1 each byte is a character.
func charset(label string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "us-ascii", "ascii":
		return in, nil
	case "iso-8859-1", "latin1":
		return &latin1{in: in}, nil
	}
	return nil, fmt.Errorf("the encoding %q is not UTF-8, US-ASCII or ISO-8859-1", label)
}

type latin1 struct {
	in   io.Reader
	rest []byte
}

func (l *latin1) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		buf := make([]byte, 4096)
		n, err := l.in.Read(buf)
		for _, c := range buf[:n] {
			l.rest = append(l.rest, string(rune(c))...)
		}
		if n == 0 {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// engine reads the whole document.
func (s *Source) engine(d *xml.Decoder) error {
	group, path := "", []string{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(path) > 0 || s.Channels == nil && s.Notes == nil {
				return errors.New("no <group> of <engineconfig> has a <channel>")
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.StartElement:
			at := strings.Join(append(path, t.Name.Local), "/")
			switch {
			case at == "engineconfig/group/channel":
				err = s.engineChannel(d, &t, group)
			case at == "engineconfig/group/name":
				err = d.DecodeElement(&group, &t)
				group = strings.TrimSpace(group)
			case at == "engineconfig/group":
				group, path = "", append(path, t.Name.Local)
			case at == "engineconfig":
				path = append(path, t.Name.Local)
			case len(path) == 0:
				return fmt.Errorf("the first element is <%s>, not <engineconfig>", t.Name.Local)
			default: // settings of the engine as a whole, such as write_period
				err = d.Skip()
			}
			if err != nil {
				return err
			}
		}
	}
}

// engineChannel reads a channel.
func (s *Source) engineChannel(d *xml.Decoder, start *xml.StartElement, group string) error {
	var e engineChannel
	if err := d.DecodeElement(&e, start); err != nil {
		return err
	}
	name := strings.TrimSpace(e.Name)
	if name == "" {
		return fmt.Errorf("a channel of group %q has no name", group)
	}
	c := Channel{Policy: group}
	if e.Monitor == nil {
		seconds, err := seconds(e.Period)
		if err != nil {
			s.leaveOut(name, "%v", err)
			return nil
		}
		if !s.setPeriod(name, &c, seconds) {
			return nil
		}
	} else if delta := strings.TrimSpace(e.Delta); delta != "" {
		v, err := strconv.ParseFloat(delta, 64)
		switch {
		case err != nil || math.IsInf(v, 0) || math.IsNaN(v):
			s.differ(name, "the delta %q is not a number; Varve stores every update", delta)
		case v > 0: // the engine stores every update if it is negative
			c.Settings.Deadband = v
		}
	}
	if e.Enable != nil && !strings.EqualFold(strings.TrimSpace(*e.Enable), "false") {
		s.differ(name, "it enables the group %q of the source; Varve always archives the group, unless you set its enabledBy", group)
	}
	if e.Disable != nil {
		s.differ(name, "it disables the group %q of the source; Varve always archives the group, unless you set its enabledBy", group)
	}
	for _, o := range e.Other {
		s.differ(name, "the element <%s> has no meaning in Varve", o.XMLName.Local)
	}
	s.add(name, c)
	return nil
}

// defaultPeriod is the period in s of a channel without one.
const defaultPeriod = 60

// seconds parses a period: seconds, or hours, minutes and seconds with colons.
func seconds(text string) (sum float64, err error) {
	if text = strings.TrimSpace(text); text == "" {
		return defaultPeriod, nil
	}
	parts := strings.Split(text, ":")
	for _, part := range parts {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || len(parts) > 3 {
			return 0, fmt.Errorf("the period %q is not a number of seconds, or hours:minutes:seconds", text)
		}
		sum = sum*60 + v
	}
	return sum, nil
}
