package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// isGlob reports whether a name is a pattern. EPICS forbids these characters in names.
func isGlob(name string) bool { return strings.ContainsAny(name, "*?") }

// apiNames is the answer of /api/v1/names.
type apiNames struct {
	Names []string
	Next  string
}

// maxPVs bounds the PVs that a pattern may stand for.
const maxPVs = 1000

// expand returns the names of all PVs that match a pattern, in order.
func (c *client) expand(cmd *cobra.Command, pattern string) ([]string, error) {
	var page apiNames
	q := url.Values{"pv": {pattern}, "limit": {strconv.Itoa(maxPVs)}}
	err := c.decode(cmd, "/api/v1/names?"+q.Encode(), &page)
	switch {
	case err != nil:
		return nil, err
	case len(page.Names) == 0:
		return nil, fmt.Errorf("no PV matches %s", pattern)
	case page.Next != "":
		return nil, fmt.Errorf("more than %d PVs match %s; use a narrower pattern", maxPVs, pattern)
	}
	return page.Names, nil
}

// nearest returns the names that are most like a name. It returns none if the archive does not
// answer, because the names are only a part of a message about another problem.
func (c *client) nearest(cmd *cobra.Command, name string) []string {
	var page apiNames
	q := url.Values{"near": {name}}
	if c.decode(cmd, "/api/v1/names?"+q.Encode(), &page) != nil {
		return nil
	}
	return page.Names
}

// suggest says which names a user may mean.
func suggest(name string, near []string) string {
	if len(near) == 0 {
		return "no known name is like it"
	}
	if strings.EqualFold(near[0], name) {
		return fmt.Sprintf("nearest: %s (names of PVs are case-sensitive)", near[0])
	}
	return "nearest: " + printable(strings.Join(near, ", "))
}

// Bounds of completion: users wait for it while they type.
const (
	completionTime  = 2 * time.Second
	completionLimit = 200
)

// completePVs completes the name of a PV, also inside of a post-processor: mean_60(SR.
func (c *client) completePVs(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	prefix, begunName := "", begun
	if i := strings.LastIndexByte(begun, '('); i >= 0 {
		prefix, begunName = begun[:i+1], begun[i+1:]
	}
	base, err := c.base(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	q := url.Values{"pv": {begunName + "*"}, "limit": {strconv.Itoa(completionLimit)}}
	resp, err := c.request(ctx, base, "/api/v1/names?"+q.Encode())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer resp.Body.Close()
	var page apiNames
	if json.NewDecoder(io.LimitReader(resp.Body, maxProblem)).Decode(&page) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i, name := range page.Names {
		page.Names[i] = prefix + name
		if prefix != "" {
			page.Names[i] += ")"
		}
	}
	return page.Names, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag completes the values of a flag.
func completeFlag(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails only for unknown flags
}

// addFormat adds the flag with the output format.
func addFormat(cmd *cobra.Command, f *format) {
	cmd.Flags().VarP(f, "format", "o", "output format: "+strings.Join(formats, ", "))
	completeFlag(cmd, "format", formats)
}
