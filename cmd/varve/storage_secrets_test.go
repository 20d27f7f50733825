package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/varve/test/authority"
)

// directory creates a directory of files, like a mounted Secret.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, dir, name, text)
	}
	return dir
}

// writeFile writes a file and returns its path.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCredentialsAreReadFromASecret(t *testing.T) {
	o := storageOptions{hosts: []string{"h"}, keyspace: "varve", credentials: directory(t, map[string]string{
		"username": "archiver\n", "password": " with spaces \r\n",
	})}
	cfg, err := o.cassandra(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" with spaces ", "changed"} {
		if username, password, err := cfg.Login(); username != "archiver" || password != want || err != nil {
			t.Errorf("the login is %q, %q, %v; want password %q", username, password, err, want)
		}
		writeFile(t, o.credentials, "password", "changed")
	}
	for name, test := range map[string]struct {
		files map[string]string
		says  string
	}{
		"nothing":        {map[string]string{}, "username"},
		"no password":    {map[string]string{"username": "archiver"}, "password"},
		"empty password": {map[string]string{"username": "archiver", "password": "\n"}, "password is empty"},
		"empty username": {map[string]string{"username": "", "password": "secret"}, "username is empty"},
	} {
		o.credentials = directory(t, test.files)
		_, err := o.cassandra(nil, nil)
		if err == nil || !strings.Contains(err.Error(), "--cassandra-credentials") || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: the error is %v; want %q", name, err, test.says)
		}
	}
}

func TestCertificatesAreReadFromASecret(t *testing.T) {
	ca := authority.New(t)
	secret, other := ca.Secret(t), ca.Secret(t)
	pick := func(names ...string) map[string]string {
		files := map[string]string{}
		for _, name := range names {
			files[name] = secret[name]
		}
		return files
	}
	for name, test := range map[string]struct {
		files map[string]string
		says  string // part of the error; "" if there is none
	}{
		"all":                   {secret, ""},
		"an authority":          {pick("ca.crt"), ""},
		"a certificate and key": {pick("tls.crt", "tls.key"), ""},
		"nothing":               {nil, "neither ca.crt nor tls.crt"},
		"a certificate, no key": {pick("ca.crt", "tls.crt"), "tls.key"},
		"a key, no certificate": {pick("ca.crt", "tls.key"), "tls.crt"},
		"another key":           {with(pick("tls.crt"), "tls.key", other["tls.key"]), "does not match"},
		"an invalid key":        {with(pick("tls.crt"), "tls.key", "no key"), "tls.key"},
		"an invalid authority":  {map[string]string{"ca.crt": "no certificate"}, "ca.crt"},
	} {
		o := storageOptions{hosts: []string{"h"}, keyspace: "varve", tls: true, tlsDir: directory(t, test.files), tlsServerName: "cass"}
		cfg, err := o.cassandra(nil, nil)
		switch {
		case test.says != "":
			if err == nil || !strings.Contains(err.Error(), "--cassandra-tls-dir") || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: the error is %v; want %q", name, err, test.says)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := cfg.TLS()
		if err != nil || got.ServerName != "cass" || got.InsecureSkipVerify ||
			(got.RootCAs == nil) != (test.files["ca.crt"] == "") || (got.Certificates == nil) != (test.files["tls.crt"] == "") {
			t.Errorf("%s: the configuration is %+v, %v", name, got, err)
		}
	}
}
