package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// source is a file or folder of this machine, and its path in the image.
type source struct{ from, to string }

// passwd defines the users that programs may look up.
const passwd = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"

// authorities are the files in which Linux distributions keep the certificates that they
// trust. The image gets the first that exists.
var authorities = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/cert.pem",
}

// layer writes the only layer of an image. All files belong to root and have a time of 1970,
// so that equal files give equal bytes.
type layer struct {
	tar     *tar.Writer
	folders map[string]bool // those already written
}

// newLayer returns the tar of a layer: files that every program may need, then the sources.
func newLayer(sources []source) ([]byte, error) {
	var buf bytes.Buffer
	l := &layer{tar: tar.NewWriter(&buf), folders: map[string]bool{}}
	if err := l.addBase(); err != nil {
		return nil, err
	}
	for _, s := range sources {
		if err := l.add(s); err != nil {
			return nil, fmt.Errorf("adding %s: %w", s.from, err)
		}
	}
	if err := l.tar.Close(); err != nil {
		return nil, fmt.Errorf("closing the layer: %w", err)
	}
	return buf.Bytes(), nil
}

// addBase writes /tmp, the users and the certificates of authorities.
func (l *layer) addBase() error {
	if err := l.folder("/tmp", 0o1777); err != nil {
		return err
	}
	if err := l.file("/etc/passwd", 0o644, []byte(passwd)); err != nil {
		return err
	}
	for _, name := range authorities {
		if data, err := os.ReadFile(name); err == nil {
			return l.file("/etc/ssl/certs/ca-certificates.crt", 0o644, data)
		}
	}
	return nil
}

// add writes a file, or everything in a folder in the order of names.
func (l *layer) add(s source) error {
	return filepath.WalkDir(s.from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.from, name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		to := path.Join(s.to, filepath.ToSlash(rel))
		switch {
		case info.IsDir():
			return l.folder(to, 0o755)
		case info.Mode()&fs.ModeSymlink != 0:
			return l.link(to, name)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return l.file(to, int64(info.Mode().Perm()|0o444), data)
	})
}

func (l *layer) file(name string, mode int64, data []byte) error {
	h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}
	if err := l.header(h); err != nil {
		return err
	}
	_, err := l.tar.Write(data)
	return err
}

func (l *layer) link(name, from string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return l.header(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
}

// folder writes a folder unless it is already written.
func (l *layer) folder(name string, mode int64) error {
	if name == "/" || l.folders[name] {
		return nil
	}
	l.folders[name] = true
	return l.header(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode})
}

// header starts an entry. It first writes the folders that contain the entry.
func (l *layer) header(h tar.Header) error {
	if err := l.folder(path.Dir(strings.TrimSuffix(h.Name, "/")), 0o755); err != nil {
		return err
	}
	h.Name = strings.TrimPrefix(h.Name, "/")
	h.Format = tar.FormatUSTAR
	return l.tar.WriteHeader(&h)
}
