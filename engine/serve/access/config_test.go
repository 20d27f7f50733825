package access

import (
	"errors"
	"strings"
	"testing"
)

// TestWrongFilesAreRefused checks that an error names the field and says what would be right.
func TestWrongFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                "not a YAML document",
		"a: [":            "not a YAML document",
		"- anonymous: {}": "must be an object with the fields access, readers, default, tls, hosts, origins",
		"access: [{anonymous: {}}]\n---\naccess: []": "more than one YAML document",
		"hosts: [a]":               "access: the list of authenticators is missing",
		"access: []":               "line 1: access: it is empty",
		"access: {anonymous: {}}":  "line 1: access: it must be a list",
		"access: [{anonymus: {}}]": `access[0]."anonymus": there is no such field; is anonymous meant?`,
		"access: [{saml: {}}]":     "the fields are anonymous, tokens, networks, jwt, kubernetes, trustedProxy",
		"access: [{anonymous: {}, tokens: {file: a}}]":                                                                         "access[0]: it must have one of the fields",
		"access: [{anonymous: {}}, {anonymous: {}}]":                                                                           "access[1]: an authenticator of this kind is in the list already",
		"access: [{anonymous: {}}]\naccess: []":                                                                                "access: it occurs twice",
		"access: [{tokens: {}}]":                                                                                               "access[0].tokens: the field file is missing",
		"access: [{tokens: {file: [a]}}]":                                                                                      "access[0].tokens.file: it must be a text",
		"access: [{networks: []}]":                                                                                             "access[0].networks: it is empty",
		"access: [{networks: [{cidr: 10.1.2.3/16}]}]":                                                                          `access[0].networks[0]: cidr "10.1.2.3/16" is not a network`,
		"access: [{networks: [{cidr: lab}]}]":                                                                                  `cidr "lab" is not a network`,
		"access: [{trustedProxy: {certificate: a}}]":                                                                           "access[0]: trustedProxy needs the field tls with clientCA",
		"access: [{trustedProxy: {}}]\ntls: {certificate: a, key: b, clientCA: c}":                                             "access[0].trustedProxy: the field certificate is missing",
		"access: [{anonymous: {}}]\ntls: {certificate: a}":                                                                     "tls: the fields certificate and key are required",
		"access: [{jwt: {audience: a}}]":                                                                                       "access[0].jwt: the field issuer is missing",
		"access: [{jwt: {issuer: 'https://a'}}]":                                                                               "access[0].jwt: the field audience is missing",
		"access: [{jwt: {issuer: 'http://a', audience: b}}]":                                                                   `the field issuer: "http://a" must begin with https`,
		"access: [{jwt: {issuer: 'https://a', audience: b, algorithms: [none]}}]":                                              `access[0].jwt.algorithms: "none" is not one of`,
		"access: [{jwt: {issuer: 'https://a', audience: b, algorithms: [HS256]}}]":                                             `"HS256" is not one of`,
		"access: [{jwt: {issuer: 'https://a', audience: b, clockSkew: 1h}}]":                                                   `access[0].jwt.clockSkew: "1h" is not a duration from 0s to 5m0s`,
		"access: [{jwt: {issuer: 'https://a', audience: b, login: {clientId: c}}}]":                                            `access[0].jwt.login."clientId": there is no such field; is clientID meant?`,
		"access: [{jwt: {issuer: 'https://a', audience: b, login: {clientID: 'a b'}}}]":                                        `access[0].jwt.login: the client ID "a b" has spaces`,
		"access: [{jwt: {issuer: 'https://a', audience: 'b ä', login: {}}}]":                                                   `access[0].jwt.login: the client ID "b ä" has spaces`,
		"access: [{jwt: {issuer: 'https://a', audience: b, login: {scopes: []}}}]":                                             "access[0].jwt.login.scopes: the scope openid is missing",
		"access: [{jwt: {issuer: 'https://a', audience: b, login: {scopes: [profile]}}}]":                                      "access[0].jwt.login.scopes: the scope openid is missing",
		"access: [{jwt: {issuer: 'https://a', audience: b, login: {scopes: ['openid email']}}}]":                               `access[0].jwt.login.scopes: "openid email" is not a scope; each element is one scope`,
		"access: [{jwt: {issuer: 'https://a;b', audience: b, login: {}}}]":                                                     "access[0].jwt.login: the host in the issuer \"https://a;b\" must be a name",
		"access: [{jwt: {issuer: 'https://[::1]', audience: b, login: {}}}]":                                                   "access[0].jwt.login: the host in the issuer",
		"access: [{jwt: {issuer: 'https://a', audience: b, login: {}}}, {jwt: {issuer: 'https://b', audience: b, login: {}}}]": "access[1]: jwt.login: another authenticator has this field already",
		"access: [{anonymous: {}}]\nreaders: []":                                                                               "readers: the field default is missing beside it",
		"access: [{anonymous: {}}]\ndefault: all":                                                                              `default: "all" is not everybody, nobody`,
		"access: [{anonymous: {}}]\ndefault: {}":                                                                               "default: it names neither groups nor users",
		"access: [{anonymous: {}}]\ndefault: nobody\nreaders: [{groups: [a]}]":                                                 "readers[0]: the field pvs is missing",
		"access: [{anonymous: {}}]\ndefault: nobody\nreaders: [{pvs: ['A*']}]":                                                 "readers[0]: it names neither groups nor users",
		"access: [{anonymous: {}}]\ndefault: nobody\nreaders: [{pvs: ['SR:'], users: [a]}]":                                    `"SR:" is one PV; write "SR:*"`,
		"access: [{anonymous: {}}]\ndefault: nobody\nreaders: [{pvs: ['A'], everybody: no}]":                                   "readers[0].everybody: it can only be true",
		"access: [{anonymous: {}}]\ndefault: nobody\nreaders: [{pvs: ['ca://A:*'], users: [a]}]":                               `no name of a PV matches "ca://A:*"; write "A:*"`,
		"access: [{anonymous: {}}]\ndefault: nobody\nreaders: [{pvs: [' A:*'], users: [a]}]":                                   `write "A:*"`,
		"access: [{anonymous: {}}]\ndefault: nobody\nreaders: [{pvs: ['A:*.VAL'], users: [a]}]":                                `write "A:*"`,
		"access: [{anonymous: {}}]\ndefault: nobody\nreaders: [{pvs: ['A:.*'], users: [a]}]":                                   `such as "A:*"`,
		"access: [{anonymous: {}}]\nhosts: ['https://a']":                                                                      `hosts[0]: "https://a" is not the name of a host`,
		"access: [{anonymous: {}}]\norigins: ['*']":                                                                            `origins[0]: "*" is not the origin of web pages`,
		"access: [{anonymous: {}}]\norigins: ['https://a/b']":                                                                  `origins[0]: "https://a/b" is not the origin`,
	} {
		c, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || c != nil {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// TestRulesDecideWhoReads checks who may read which PVs.
func TestRulesDecideWhoReads(t *testing.T) {
	c, err := Parse([]byte(`
access: [{anonymous: {}}]
default: {groups: [staff]}
readers:
- {pvs: ["SR:VAC:*", "GUN"], groups: [vacuum]}
- {pvs: ["SR:VAC:P?"], users: [ann]}
- {pvs: ["*:PUBLIC"], everybody: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	ann, bob := &Identity{User: "ann", Groups: []string{"staff"}}, &Identity{User: "bob", Groups: []string{"other", "vacuum"}}
	for pv, want := range map[string][2]bool{ // ann, bob
		"SR:VAC:P1":      {true, true},
		"SR:VAC:P1.DESC": {true, true},
		"SR:VAC:P10":     {false, true},
		"SR:VAC:":        {false, true},
		"SR:VA":          {true, false},
		"GUN":            {false, true},
		"GUN.HIHI":       {false, true},
		"GUNS":           {true, false},
		"SR:PUBLIC":      {true, true},
		"SR:VAC:PUBLIC":  {true, true},
		"":               {true, false},
	} {
		for i, id := range []*Identity{ann, bob} {
			q := &Request{Identity: *id, view: c.rules.view(id)}
			if q.Sees(pv) != want[i] || q.Reads(pv) != want[i] || q.SeesAll() {
				t.Errorf("%s may read %s: %t, want %t", id.User, pv, q.Sees(pv), want[i])
			}
		}
	}
	if (*Request)(nil).Sees("SR:PUBLIC") || (&Request{}).Sees("SR:PUBLIC") || (*Request)(nil).SeesAll() {
		t.Error("a request without an identity sees a PV")
	}
}

// TestRequestsNoteTheirPVs checks what the audit log learns.
func TestRequestsNoteTheirPVs(t *testing.T) {
	q := &Request{view: view{all: true}}
	for range 2 {
		for i := range maxNoted {
			q.Reads(strings.Repeat("A", i+1))
		}
	}
	if pvs, more, hidden := q.Noted(); len(pvs) != maxNoted || more || hidden {
		t.Errorf("%d PVs, more %t, hidden %t", len(pvs), more, hidden)
	}
	q.view.all = false
	q.Reads("B")
	if pvs, more, hidden := q.Noted(); len(pvs) != maxNoted || !more || !hidden {
		t.Errorf("%d PVs, more %t, hidden %t", len(pvs), more, hidden)
	}
}

// FuzzParse checks that no file makes the parser fail in another way than by an error.
func FuzzParse(f *testing.F) {
	f.Add([]byte("access: [{anonymous: {groups: [a]}}, {networks: [{cidr: 10.0.0.0/8}]}]\nreaders: [{pvs: ['A*'], users: [b]}]\ndefault: nobody"))
	f.Add([]byte("access: [{jwt: {issuer: 'https://a', audience: b, clockSkew: 1s}}]\nhosts: [a]\norigins: ['https://b']"))
	f.Add([]byte("access: [{jwt: {issuer: 'https://a', audience: b, login: {clientID: c, scopes: [openid, groups]}}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		if len(c.Authenticators) == 0 {
			t.Error("a file without authenticators is valid")
		}
		q := Request{view: c.rules.view(&Identity{})}
		q.Reads("SR:VAC:P1.DESC")
	})
}

// TestUnusedPatterns checks which patterns match no PV.
func TestUnusedPatterns(t *testing.T) {
	c, err := Parse([]byte("access: [{anonymous: {}}]\ndefault: everybody\nreaders:\n" +
		"- {pvs: ['SR:VAC:*', 'SR:VAK:*', 'GUN.VAL', GUM], groups: [vacuum]}\n- {pvs: ['BR:*'], groups: [staff]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(c, Options{Now: newClock().now})
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Unused(func(seen func(string)) error {
		for _, pv := range []string{"SR:VAC:P1", "GUN", "GUN.DESC", "SR:X"} {
			seen(pv)
		}
		return nil
	})
	if err != nil || strings.Join(got, " ") != "SR:VAK:* GUM BR:*" {
		t.Errorf("the patterns %q match no PV, %v", got, err)
	}
	away := errors.New("the store is away")
	if _, err := a.Unused(func(func(string)) error { return away }); !errors.Is(err, away) {
		t.Errorf("without names the error is %v", err)
	}
}
