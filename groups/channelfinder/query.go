package channelfinder

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// parseService returns the base URL of the service's resources.
func parseService(service string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(service))
	if err != nil {
		if wrong, ok := errors.AsType[*url.Error](err); ok { // its text contains the URL, perhaps with a password
			err = wrong.Err
		}
		return nil, err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("the URL must have the form http://HOST or https://HOST")
	}
	u.RawQuery, u.Fragment = "", ""
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/resources/channels")
	u.RawPath = ""
	return u, nil
}

// query is a list of parameters in their original order. A name may occur several times.
type query []parameter

type parameter struct{ name, value string }

// parseQuery parses a query as written by a user, URL-encoded or not: "~name=SR*",
// "~name=SR%2A". A '+' stays a '+'. parseQuery does not fail: ChannelFinder reports errors.
func parseQuery(text string) query {
	var q query
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSpace(text), "?"), "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		q = append(q, parameter{unescape(name), unescape(value)})
	}
	return q
}

func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

func (q query) has(name string) bool {
	return slices.ContainsFunc(q, func(p parameter) bool { return p.name == name })
}

func (q query) with(name, value string) query {
	return append(slices.Clone(q), parameter{name, value})
}

func (q query) encode() string {
	var b strings.Builder
	for i, p := range q {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.name))
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(p.value))
	}
	return b.String()
}
