// Package oci makes container images from files, without a daemon and without a registry:
//
//	files ──▶ layer (tar) ──▶ config, manifest ──▶ image
//	          layer.go        image.go, with go-containerregistry
//
// Equal files and settings give equal bytes. The package writes the layer itself, because crane.Layer
// of go-containerregistry supports neither file modes nor symbolic links.
package oci

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

// A Source is a file or folder of this machine, and its absolute path in the image.
type Source struct{ From, To string }

// passwd defines the users that programs may look up.
const passwd = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"

// layer writes the only layer of an image. All files belong to root and have a time of 1970,
// so that equal files give equal bytes.
type layer struct {
	tar     *tar.Writer
	folders map[string]bool // those already written
}

// Layer returns the tar of a layer: /tmp and the users, then the sources. A file of a source replaces
// nothing: two sources must not hold the same file.
func Layer(sources []Source) ([]byte, error) {
	var buf bytes.Buffer
	l := &layer{tar: tar.NewWriter(&buf), folders: map[string]bool{}}
	if err := l.addBase(); err != nil {
		return nil, err
	}
	for _, s := range sources {
		if err := l.add(s); err != nil {
			return nil, fmt.Errorf("adding %s: %w", s.From, err)
		}
	}
	if err := l.tar.Close(); err != nil {
		return nil, fmt.Errorf("closing the layer: %w", err)
	}
	return buf.Bytes(), nil
}

// addBase writes /tmp and the users. Images hold no certificates of authorities: Varve has its own
// (cmd/varve/roots.go), so an image does not depend on the machine that builds it.
func (l *layer) addBase() error {
	if err := l.folder("/tmp", 0o1777); err != nil {
		return err
	}
	return l.file("/etc/passwd", 0o644, []byte(passwd))
}

// add writes a file, or everything in a folder in the order of names.
func (l *layer) add(s Source) error {
	return filepath.WalkDir(s.From, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.From, name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		to := path.Join(s.To, filepath.ToSlash(rel))
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
