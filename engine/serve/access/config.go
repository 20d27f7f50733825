package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/request"
)

// Config is the content of an access file.
type Config struct {
	// Authenticators are tried in order. There is at least one.
	Authenticators []Authenticator
	rules          rules
	// TLS is nil for a server without encryption.
	TLS *TLS
	// Hosts are names of the server, in addition to localhost and the name of the machine.
	Hosts []string
	// Origins are those of the web pages that may read from a browser, such as
	// https://grafana.example.org.
	Origins []string
}

// Authenticator is an element of the list access. One of its fields is set.
type Authenticator struct {
	Anonymous    *Anonymous
	Tokens       *Tokens
	Networks     []Network
	JWT          *JWT
	Kubernetes   *Kubernetes
	TrustedProxy *TrustedProxy
}

// Anonymous lets everybody in.
type Anonymous struct{ Groups []string }

// Tokens names a file of hashed bearer tokens. See token.go for its lines.
type Tokens struct{ File string }

// kinds are the names of the authenticators.
var kinds = []string{"anonymous", "tokens", "networks", "jwt", "kubernetes", "trustedProxy"}

// Open returns a configuration in which everybody may read everything.
func Open() *Config {
	return &Config{Authenticators: []Authenticator{{Anonymous: &Anonymous{}}}, rules: rules{others: Audience{Everybody: true}}}
}

// Load reads an access file. Paths in it are relative to its directory.
func Load(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if t := c.TLS; t != nil {
		t.Certificate, t.Key = beside(path, t.Certificate), beside(path, t.Key)
		if t.ClientCA != "" {
			t.ClientCA = beside(path, t.ClientCA)
		}
	}
	for i := range c.Authenticators {
		a := &c.Authenticators[i]
		if a.Tokens != nil {
			a.Tokens.File = beside(path, a.Tokens.File)
		}
		if a.JWT != nil && a.JWT.CAFile != "" {
			a.JWT.CAFile = beside(path, a.JWT.CAFile)
		}
	}
	return c, nil
}

func beside(path, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(path), name)
}

// Parse parses the text of an access file. It refuses unknown fields.
func Parse(text []byte) (*Config, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	fields, err := root.fields("access", "readers", "default", "tls", "hosts", "origins")
	if err != nil {
		return nil, err
	}
	c := &Config{}
	list, has := fields["access"]
	if !has {
		return nil, errors.New("access: the list of authenticators is missing; the list [{anonymous: {}}] lets everybody in")
	}
	if v, has := fields["tls"]; has {
		if c.TLS, err = parseTLS(v); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(c.setAuthenticators(list), c.setRules(fields),
		setTexts(fields, "hosts", &c.Hosts), c.checkHosts(), setTexts(fields, "origins", &c.Origins), c.checkOrigins()); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) setAuthenticators(list node) error {
	elements, err := list.elements()
	if err != nil {
		return err
	}
	if len(elements) == 0 {
		return list.errorf("it is empty, so nobody could read; the list [{anonymous: {}}] lets everybody in")
	}
	for _, e := range elements {
		a, err := parseAuthenticator(e)
		if err != nil {
			return err
		}
		if c.has(&a) {
			return e.errorf("an authenticator of this kind is in the list already")
		}
		if a.JWT != nil && a.JWT.Login != nil && c.login() != nil {
			return e.errorf("jwt.login: another authenticator has this field already; users of the web UI can log in at one issuer")
		}
		if a.TrustedProxy != nil && (c.TLS == nil || c.TLS.ClientCA == "") {
			return e.errorf("trustedProxy needs the field tls with clientCA beside access, to know the proxy by its certificate")
		}
		c.Authenticators = append(c.Authenticators, a)
	}
	return nil
}

// has reports whether there is an authenticator of the same kind, of which there may be only one.
func (c *Config) has(a *Authenticator) bool {
	return slices.ContainsFunc(c.Authenticators, func(b Authenticator) bool {
		return a.Anonymous != nil && b.Anonymous != nil || a.Networks != nil && b.Networks != nil ||
			a.Kubernetes != nil && b.Kubernetes != nil
	})
}

// login returns how users of the web UI log in, or nil.
func (c *Config) login() *Login {
	for i := range c.Authenticators {
		if j := c.Authenticators[i].JWT; j != nil && j.Login != nil {
			return j.Login
		}
	}
	return nil
}

func parseAuthenticator(n node) (a Authenticator, err error) {
	fields, err := n.fields(kinds...)
	if err != nil {
		return a, err
	}
	if len(fields) != 1 {
		return a, n.errorf("it must have one of the fields %s", strings.Join(kinds, ", "))
	}
	for kind, v := range fields {
		switch kind {
		case "anonymous":
			a.Anonymous, err = parseAnonymous(v)
		case "tokens":
			a.Tokens, err = parseTokens(v)
		case "networks":
			a.Networks, err = parseNetworks(v)
		case "jwt":
			a.JWT, err = parseJWT(v)
		case "kubernetes":
			a.Kubernetes, err = parseKubernetes(v)
		case "trustedProxy":
			a.TrustedProxy, err = parseProxy(v)
		}
	}
	return a, err
}

func parseAnonymous(n node) (*Anonymous, error) {
	fields, err := n.fields("groups")
	if err != nil {
		return nil, err
	}
	a := &Anonymous{}
	return a, setTexts(fields, "groups", &a.Groups)
}

func parseTokens(n node) (*Tokens, error) {
	fields, err := n.fields("file")
	if err != nil {
		return nil, err
	}
	t := &Tokens{}
	if err := setText(fields, "file", &t.File); err != nil {
		return nil, err
	}
	if t.File == "" {
		return nil, n.errorf("the field file is missing: the path of a file with lines of `varve token create`")
	}
	return t, nil
}

// setRules reads the fields readers and default.
func (c *Config) setRules(fields map[string]node) error {
	list, has := fields["readers"]
	others, given := fields["default"]
	switch {
	case !has && !given:
		c.rules.others.Everybody = true
		return nil
	case has && !given:
		return list.errorf("the field default is missing beside it: who may read the PVs that no rule names, " +
			"which is everybody, nobody or {groups: […], users: […]}")
	}
	if err := c.setDefault(others); err != nil || !has {
		return err
	}
	elements, err := list.elements()
	if err != nil {
		return err
	}
	patterns := 0
	for _, e := range elements {
		r, err := parseRule(e)
		if err != nil {
			return err
		}
		if patterns += len(r.PVs); patterns > maxList {
			return list.errorf("it has more than %d patterns of PVs", maxList)
		}
		c.rules.list = append(c.rules.list, r)
	}
	return nil
}

func (c *Config) setDefault(n node) (err error) {
	if n.value.Kind == yaml.ScalarNode {
		switch n.value.Value {
		case "everybody":
			c.rules.others.Everybody = true
			return nil
		case "nobody":
			return nil
		}
		return n.errorf("%.50q is not everybody, nobody or an object with the fields groups and users", n.value.Value)
	}
	fields, err := n.fields("groups", "users")
	if err != nil {
		return err
	}
	c.rules.others, err = parseAudience(n, fields)
	return err
}

func parseRule(n node) (r Rule, err error) {
	fields, err := n.fields("pvs", "groups", "users", "everybody")
	if err != nil {
		return r, err
	}
	list, has := fields["pvs"]
	if !has {
		return r, n.errorf("the field pvs is missing: a list of names or globs, such as SR:VAC:*")
	}
	if r.PVs, err = list.texts(); err != nil {
		return r, err
	}
	for i, text := range r.PVs {
		if request.IsGlob(text) && pvname.Canonical(text) != text {
			return r, list.errorf("element %d: no name of a PV matches %q; write %q", i, text, pvname.Canonical(text))
		}
		if strings.HasSuffix(text, ".*") {
			return r, list.errorf("element %d: %q names only fields of records; a rule for a record, such as %q, holds for its fields, too", i, text, strings.TrimSuffix(text, ".*")+"*")
		}
		if !request.IsGlob(text) && strings.ContainsRune(":-_/.", rune(text[len(text)-1])) {
			return r, list.errorf("element %d: %q is one PV; write %q for all PVs that begin so", i, text, text+"*")
		}
	}
	if len(r.PVs) == 0 {
		return r, list.errorf("it is empty")
	}
	r.Audience, err = parseAudience(n, fields)
	r.compile()
	return r, err
}

// parseAudience reads the fields groups, users and everybody.
func parseAudience(n node, fields map[string]node) (a Audience, err error) {
	if v, has := fields["everybody"]; has {
		if a.Everybody = v.value.Value == "true"; !a.Everybody {
			return a, v.errorf("it can only be true; leave it out otherwise")
		}
	}
	if err := errors.Join(setTexts(fields, "groups", &a.Groups), setTexts(fields, "users", &a.Users)); err != nil {
		return a, err
	}
	if !a.Everybody && len(a.Groups)+len(a.Users) == 0 {
		return a, n.errorf("it names neither groups nor users, so nobody could read")
	}
	return a, nil
}

func (c *Config) checkHosts() error {
	for i, h := range c.Hosts {
		if strings.ContainsAny(h, ":/* ") {
			return fmt.Errorf("hosts[%d]: %q is not the name of a host; write it without scheme, port and wildcards", i, h)
		}
		c.Hosts[i] = strings.ToLower(strings.TrimSuffix(h, "."))
	}
	return nil
}

func (c *Config) checkOrigins() error {
	for i, o := range c.Origins {
		scheme, host, found := strings.Cut(o, "://")
		if !found || scheme != "http" && scheme != "https" || host == "" || strings.ContainsAny(host, "/*? ") {
			return fmt.Errorf("origins[%d]: %q is not the origin of web pages; write it like https://grafana.example.org, without a path", i, o)
		}
		c.Origins[i] = strings.ToLower(o)
	}
	return nil
}
