package serve

import (
	"net/http"

	"varve.dev/varve/engine/serve/stream"
)

// contentPolicy is the Content-Security-Policy of all answers but those of the UI, which have their own. An
// answer that a browser shows, such as a plot in SVG, loads and runs nothing.
const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// exposed are the headers that web pages of other origins may read.
const exposed = stream.CompleteUntil + ", " + stream.LostSamples

// protectBrowsers makes browsers take answers for nothing but what they are.
func protectBrowsers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// refuseForeignPosts refuses requests with a body that a web page of another origin makes a browser send.
// Such a page could not read the answer, but make the archive work.
func refuseForeignPosts(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(next)
}

// allowOrigins lets web pages of other origins read the archive from a browser: those of the access
// file, or all if there is none.
func (c *Config) allowOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		origin := "*"
		if c.Access == nil {
			h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		} else {
			h.Add("Vary", "Origin")
			origin = r.Header.Get("Origin")
		}
		allowed := c.Access == nil || c.Access.AllowsOrigin(origin)
		if allowed {
			h.Set("Access-Control-Allow-Origin", origin)
		}
		switch r.Method {
		case http.MethodOptions:
			if allowed {
				h.Set("Access-Control-Allow-Methods", "GET")
				h.Set("Access-Control-Allow-Headers", allowedHeaders(r, origin))
			}
			w.WriteHeader(http.StatusNoContent)
			return
		case http.MethodGet, http.MethodHead:
			if allowed {
				h.Set("Access-Control-Expose-Headers", exposed)
			}
		default:
			h.Del("Access-Control-Allow-Origin")
		}
		next.ServeHTTP(w, r)
	})
}

// allowedHeaders returns the headers that a page may send. A star does not include Authorization.
func allowedHeaders(r *http.Request, origin string) string {
	if asked := r.Header.Get("Access-Control-Request-Headers"); origin != "*" && asked != "" {
		return cut(asked)
	}
	return "*"
}
