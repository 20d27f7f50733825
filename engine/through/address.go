package through

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Address is the address of an older archive.
type Address struct {
	// URL is the address of the archive's retrieval, such as http://appliance:17668/retrieval, or that of a server of
	// JSON archive access, such as http://archive:9812/archive-access/api/1.0.
	URL *url.URL
	// JSON says that the server is one of JSON archive access, and Key is the number of the archive on it.
	JSON bool
	Key  int
}

// ErrURL is wrapped by the errors of ParseURL.
var ErrURL = errors.New("is not the address of an archive; write it like http://appliance:17668/retrieval")

// ParseURL parses the address of an archive. Its path must be that of the retrieval.
func ParseURL(text string) (*url.URL, error) {
	u, err := parseURL(text)
	if err == nil && (u.Path == "" || u.Path[len(u.Path)-1] == '/') {
		err = fmt.Errorf("%q %w: its path is that of the retrieval, without a slash at the end", u.Redacted(), ErrURL)
	}
	return u, err
}

// parseURL parses the address of a server.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q %w", text, ErrURL)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q %w: it must begin with http:// or https://", u.Redacted(), ErrURL)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q %w: it has no host", u.Redacted(), ErrURL)
	case u.User != nil:
		return nil, fmt.Errorf("%q %w: it must have no user name and no password", u.Redacted(), ErrURL)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("%q %w: it must have no parameters", u.Redacted(), ErrURL)
	}
	return u, nil
}

// jsonScheme begins the address of a server of JSON archive access, as in Phoebus.
const jsonScheme = "json:"

// IsJSON reports whether an address is that of a server of JSON archive access.
func IsJSON(text string) bool { return strings.HasPrefix(text, jsonScheme) }

// errJSON is wrapped by the errors of ParseJSON.
var errJSON = errors.New("this is not the address of a server of JSON archive access; write it like json:http://archive:9812/archive-access/api/1.0;key=1")

// ParseJSON parses the address of a server of JSON archive access, as Phoebus has it. Without a key, the key is 1.
func ParseJSON(text string) (Address, error) {
	rest, found := strings.CutPrefix(text, jsonScheme)
	if !found {
		return Address{}, fmt.Errorf("%w: it must begin with the scheme json", errJSON)
	}
	a := Address{JSON: true, Key: 1}
	rest, key, hasKey := strings.Cut(rest, ";")
	if hasKey {
		n, err := strconv.ParseUint(strings.TrimPrefix(key, "key="), 10, 31)
		if err != nil || !strings.HasPrefix(key, "key=") {
			return Address{}, fmt.Errorf("%w: after the semicolon, it must have the key of the archive, such as key=1", errJSON)
		}
		a.Key = int(n)
	}
	var err error
	if a.URL, err = parseURL(strings.TrimRight(rest, "/")); err != nil {
		return Address{}, fmt.Errorf("%w: %w", errJSON, err)
	}
	return a, nil
}
