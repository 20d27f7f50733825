package identity

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of the files in a directory of Files. The first three are those of a Secret of cert-manager.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	authorityFile   = "ca.crt"
	// AuthoritiesFile has further authorities, which are also trusted. It may be missing.
	AuthoritiesFile = "authorities.crt"
)

const (
	// maxAuthorities is the maximum number of authorities that a process trusts.
	maxAuthorities = 16
	// maxFile is the maximum size of a file in bytes.
	maxFile = 1 << 20
)

// Files is a directory with the certificate of a process and the authorities that it trusts, in PEM.
type Files string

// material is the content of Files.
type material struct {
	own         tls.Certificate
	authorities *x509.CertPool
}

// read returns the content of the files. self is the name that the certificate must have.
func (f Files) read(self Name) (*material, error) {
	cert, err := f.file(certificateFile)
	if err != nil {
		return nil, err
	}
	key, err := f.file(keyFile)
	if err != nil {
		return nil, err
	}
	m := &material{authorities: x509.NewCertPool()}
	if m.own, err = tls.X509KeyPair(cert, key); err != nil {
		return nil, fmt.Errorf("%s, %s in %s: %w", certificateFile, keyFile, string(f), err)
	}
	name, err := nameOf(m.own.Leaf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path(certificateFile), err)
	}
	if name != self {
		return nil, fmt.Errorf("%s: the certificate is for %q, but this process is %q", f.path(certificateFile), cutName(name), self)
	}
	return m, f.addAuthorities(m.authorities)
}

// addAuthorities adds the certificates of all authorities to a pool.
func (f Files) addAuthorities(to *x509.CertPool) error {
	seen := map[string]bool{}
	for _, name := range []string{authorityFile, AuthoritiesFile} {
		text, err := f.file(name)
		if name == AuthoritiesFile && errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		all, err := parseAuthorities(text)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path(name), err)
		}
		for _, c := range all {
			if seen[string(c.Raw)] {
				continue
			}
			if seen[string(c.Raw)] = true; len(seen) > maxAuthorities {
				return fmt.Errorf("%s, %s in %s: more than %d authorities; remove those that have signed no valid certificate",
					authorityFile, AuthoritiesFile, string(f), maxAuthorities)
			}
			to.AddCert(c)
		}
	}
	return nil
}

// parseAuthorities returns the certificates in a file of authorities. It refuses the file if one of them cannot be
// parsed: without this authority, good certificates would look wrong later.
func parseAuthorities(text []byte) (all []*x509.Certificate, err error) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("block %d is a %q, not a CERTIFICATE", len(all)+1, b.Type)
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(all)+1, err)
		}
		if !c.IsCA {
			return nil, fmt.Errorf("certificate %d, %s, is not the certificate of an authority", len(all)+1, describe(c))
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("the file contains no certificate in PEM")
	}
	return all, nil
}

func (f Files) path(name string) string { return filepath.Join(string(f), name) }

// file returns the content of a file.
func (f Files) file(name string) ([]byte, error) {
	in, err := os.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", f.path(name), maxFile)
	}
	return text, nil
}

func cutName(n Name) Name { return n[:min(len(n), 200)] }
