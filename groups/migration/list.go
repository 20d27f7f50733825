package migration

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// columns are the columns that a table may have.
var columns = []string{"pv", "group", "mode", "period", "deadband", "provider", "paused", "properties", "keep"}

// maxLine is the maximum length of the first line of a list in bytes.
const maxLine = 64 << 10

// List reads a list of names, one in a line, or a table in CSV, whose first line names its columns. The
// column pv is required. A # at the start of a line begins a comment.
func List(in io.Reader) (*Source, error) {
	s := &Source{Kind: "list"}
	r := bufio.NewReaderSize(in, maxLine)
	begin, err := r.Peek(maxLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	if isTable(string(begin)) {
		err = s.table(r)
	} else {
		err = s.names(r)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	s.normalize()
	return s, nil
}

// isTable reports whether the first line that is no comment has the column pv.
func isTable(begin string) bool {
	for line := range strings.Lines(strings.TrimPrefix(begin, "\ufeff")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			first, _, _ := strings.Cut(line, ",")
			return strings.Contains(line, ",") || strings.TrimSpace(first) == "pv"
		}
	}
	return false
}

func (s *Source) names(r io.Reader) error {
	in := bufio.NewScanner(r)
	for in.Scan() {
		if name := strings.TrimSpace(strings.TrimPrefix(in.Text(), "\ufeff")); name != "" && name[0] != '#' {
			s.add(name, Channel{})
		}
	}
	return in.Err()
}

func (s *Source) table(in *bufio.Reader) error {
	if b, err := in.Peek(3); err == nil && string(b) == "\ufeff" {
		_, _ = in.Discard(3)
	}
	r := csv.NewReader(in)
	r.Comment, r.TrimLeadingSpace = '#', true
	head, err := r.Read()
	if err != nil {
		return err
	}
	for i := range head {
		if head[i] = strings.ToLower(strings.TrimSpace(head[i])); !slices.Contains(columns, head[i]) || slices.Contains(head[:i], head[i]) {
			return fmt.Errorf("column %d is named %q; each column must have another one of the names %s", i+1, head[i], strings.Join(columns, ", "))
		}
	}
	if !slices.Contains(head, "pv") {
		return errors.New("the first line must name a column pv")
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		cells := map[string]string{}
		for i, name := range head {
			cells[name] = strings.TrimSpace(row[i])
		}
		if err := s.row(cells); err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// row adds the PV of a row. A wrong cell is an error: a person wrote it, and can correct it.
func (s *Source) row(cells map[string]string) error {
	c := Channel{Policy: cells["group"]}
	if err := c.Settings.setSampling(cells); err != nil {
		return err
	}
	if text := cells["period"]; c.Settings.Period != "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0.1 && v < 1e9) {
			return fmt.Errorf("period %q is not a number of seconds, at least 0.1", text)
		}
		s.setPeriod(cells["pv"], &c, v)
	}
	switch p := v1alpha1.Provider(strings.ToUpper(cells["provider"])); p {
	case "", v1alpha1.ChannelAccess, v1alpha1.PVAccess:
		c.Settings.Provider = p
	default:
		return fmt.Errorf("provider %q is not CA or PVA", cells["provider"])
	}
	switch strings.ToLower(cells["paused"]) {
	case "", "false", "no", "0":
	case "true", "yes", "1":
		c.Settings.Paused = true
	default:
		return fmt.Errorf("paused %q is not true or false", cells["paused"])
	}
	c.Settings.Properties = s.properties(cells["pv"], strings.FieldsFunc(cells["properties"], func(r rune) bool { return r == ' ' || r == ';' || r == ',' }))
	s.add(cells["pv"], c)
	return nil
}

// setSampling sets the mode and the deadband of a row, and how long samples are kept. In mode Scan, it
// sets any period.
func (s *Settings) setSampling(cells map[string]string) error {
	switch strings.ToLower(cells["mode"]) {
	case "", "monitor":
		if cells["period"] != "" {
			return errors.New("period requires mode Scan")
		}
	case "scan":
		s.Period = "1s"
	default:
		return fmt.Errorf("mode %q is not Monitor or Scan", cells["mode"])
	}
	if text := cells["deadband"]; text != "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v < 1e300) || s.Period != "" && v > 0 {
			return fmt.Errorf("deadband %q must be a number of at least 0, and mode Scan takes no deadband", text)
		}
		s.Deadband = v
	}
	if s.Raw = v1alpha1.Duration(cells["keep"]); s.Raw != "" {
		if d, err := s.Raw.TimeDuration(); err != nil || d <= 0 {
			return fmt.Errorf("keep %q is not a duration such as 90d or 2y", s.Raw)
		}
	}
	return nil
}
