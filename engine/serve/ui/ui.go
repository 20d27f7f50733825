// Package ui serves the web UI of an archive. Its sources are in the folder ui of the repository:
// `make ui` builds them into the folder dist, which is part of the program.
//
//	/, /pvs    ── dist/index.html: checked by its ETag at each visit; the script shows the page of the path
//	/assets/…  ── dist/assets: names contain a hash of the content, so browsers keep them
//
// Pages load nothing from other hosts and run no inline scripts: the Content-Security-Policy allows
// neither. They send requests to no other host than the issuer at which users log in, if there is one. All their URLs are relative, so that they work behind a path prefix. The file
// dist/assets/licenses.txt has the licenses of the libraries in the bundle.
package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"
)

//go:embed all:dist
var files embed.FS

// Pages are the paths of the pages besides /. Each is one segment, so that relative URLs are the same
// on all pages. The table of ui/src/nav.ts has the same names.
var Pages = []string{"pvs", "pv", "archive", "groups", "login"}

// policy returns the Content-Security-Policy. Images are files of the UI, and plots that it exports. issuer is the
// origin at which users log in, or "".
func policy(issuer string) string {
	connect := "connect-src 'self'; "
	if issuer != "" {
		connect = "connect-src 'self' " + issuer + "; "
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " + connect +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
}

// Register adds the paths of the UI to a mux. issuer is the origin at which users log in, or "".
func Register(mux *http.ServeMux, issuer string) {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	rules := policy(issuer)
	serve := func(w http.ResponseWriter, r *http.Request, name, caching string) {
		w.Header().Set("Content-Security-Policy", rules)
		serveFile(w, r, dist, name, caching)
	}
	page := func(w http.ResponseWriter, r *http.Request) { serve(w, r, "index.html", "no-cache") }
	mux.HandleFunc("GET /{$}", page)
	for _, name := range Pages {
		mux.HandleFunc("GET /"+name, page)
	}
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, "assets/"+r.PathValue("name"), "public, max-age=31536000, immutable")
	})
}

// serveFile answers a file of the UI.
func serveFile(w http.ResponseWriter, r *http.Request, dist fs.FS, name, caching string) {
	text, err := fs.ReadFile(dist, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256(text)
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	h.Set("Cache-Control", caching)
	h.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}

// contentType returns the type of a file. The table of the machine may lack some.
func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return mime.TypeByExtension(ext)
	}
}
