package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/request"
)

// pvSelection says which PVs to import: those that match the pattern and, if there is a file, one of
// its lines.
type pvSelection struct {
	pattern, file string
	lines         []string
}

// matcher reads the file, if there is one, and returns a function that reports whether to import a PV. The
// function takes the canonical name of the PV.
func (s *pvSelection) matcher() (request.Matcher, error) {
	pattern := request.Glob(s.pattern)
	if s.file == "" {
		return pattern, nil
	}
	var err error
	if s.lines, err = readNames(s.file); err != nil {
		return nil, fmt.Errorf("--pvs: %w", err)
	}
	listed, err := request.Globs(s.lines...)
	if err != nil {
		return nil, fmt.Errorf("--pvs: %w", err)
	}
	return func(pv string) bool { return pattern(pv) && listed(pv) }, nil
}

// names returns the lines of the file if they are all names, and otherwise nothing.
func (s *pvSelection) names() []string {
	if slices.ContainsFunc(s.lines, request.IsGlob) {
		return nil
	}
	return s.lines
}

// missing returns the lines of the file that match none of the PVs of a source, each once. pvs are these PVs,
// sorted. missing leaves out what the pattern may exclude: names that do not match it and, if it is not *, lines
// that are patterns themselves.
func (s *pvSelection) missing(pvs []string) (out []string) {
	pattern := request.Glob(s.pattern)
	for _, line := range s.lines {
		if !request.IsGlob(line) {
			name := pvname.Canonical(line)
			if _, found := slices.BinarySearch(pvs, name); !found && pattern(name) {
				out = append(out, line)
			}
			continue
		}
		if s.pattern == "*" && !slices.ContainsFunc(pvs, request.Glob(line)) {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readNames returns the lines of a file, except for empty lines and for comments, which begin with #.
func readNames(file string) (names []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		if line := strings.TrimSpace(strings.TrimPrefix(in.Text(), "\ufeff")); line != "" && line[0] != '#' {
			names = append(names, line)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no names", file)
	}
	return names, nil
}
