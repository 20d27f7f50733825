package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/field"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/table"
	"varve.dev/varve/engine/serve/visible"
)

// Handler serves /api/v1/files. The caller sets its exported fields before use.
type Handler struct {
	Reader *query.Reader
	// Reads admits reads of samples. It may be nil.
	Reads *admission.Gate
	// Memory bounds the bytes of all files in memory. A file may take half of it.
	Memory int64
	// Origin says which archive answers, and in which version. It is part of each file.
	Origin []table.Note
	Now    func() time.Time
	Log    *slog.Logger

	cache *cache
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	h.cache = newCache(h.Memory)
	daysCall.Register(mux, h.Now, h.days)
	fileCall.Register(mux, h.Now, h.file)
}

// file answers a file, or ranges of it.
func (h *Handler) file(w http.ResponseWriter, r *http.Request, _ *openapi.Query) {
	k, err := parseKey(r.PathValue("name"))
	switch {
	case errors.Is(err, errNoFile):
		answerError(w, http.StatusNotFound, err)
		return
	case err != nil:
		answerError(w, http.StatusBadRequest, err)
		return
	}
	pv, _, err := field.PV(r.Context(), h.Reader, k.pv)
	if err != nil {
		h.fail(w, r, fmt.Errorf("reading %s: %w", k.pv, err))
		return
	}
	visible.Note(r.Context(), pv) // a file in the cache is not read from the store
	// The file may be in the cache for another client. For a reader who may not read the PV, it is built again,
	// which finds no such PV.
	k.hidden = !h.Reader.Sees(r.Context(), pv)
	names, err := h.Reader.OtherNames(r.Context(), pv)
	if err != nil {
		h.fail(w, r, fmt.Errorf("reading %s: %w", k.pv, err))
		return
	}
	if parts := append([]string{names.PV}, names.Former...); len(parts) > 1 || parts[0] != pv {
		for _, name := range parts {
			visible.Note(r.Context(), name)
		}
		k.names = strings.Join(parts, " ")
	}
	f, release, err := h.cache.get(r.Context(), k, h.Now(), func(ctx context.Context, body *content) (*file, error) {
		return h.build(ctx, k, body)
	})
	if err != nil {
		h.fail(w, r, fmt.Errorf("reading %s: %w", k.pv, err))
		return
	}
	defer release()
	setHeaders(w.Header(), f)
	table.SetOrigin(w.Header(), h.Origin)
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(f, 0, f.size))
}

// exposed are the headers that web pages of other origins may read.
const exposed = stream.CompleteUntil + ", " + stream.LostSamples + ", Accept-Ranges, Content-Length, Content-Range, ETag"

func setHeaders(header http.Header, f *file) {
	header.Set("Content-Type", table.Parquet.ContentType())
	header.Set("ETag", f.etag)
	header.Set("Access-Control-Expose-Headers", exposed)
	header.Set(gzhttp.HeaderNoCompression, "1") // ranges are those of the file
	header.Set("Cache-Control", "no-cache")     // a late sample may change the file: ask again with its ETag
	if f.until < query.Latest {
		header.Set("Cache-Control", "no-store")
		header.Set(stream.CompleteUntil, stream.Until(f.until))
	}
	if f.lost > 0 {
		header.Set(stream.LostSamples, strconv.FormatUint(f.lost, 10))
	}
}

// fail answers a request that failed.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var empty emptyError
	var large tooLargeError
	switch {
	case errors.As(err, &empty):
		if empty.until < query.Latest {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set(stream.CompleteUntil, stream.Until(empty.until))
		}
		answerError(w, http.StatusNotFound, empty)
	case errors.Is(err, query.ErrUnknownPV):
		answerError(w, http.StatusNotFound, fmt.Errorf("%w; /api/v1/names?near=NAME lists similar names", err))
	case errors.As(err, &large):
		answerError(w, http.StatusRequestEntityTooLarge, large)
	case r.Context().Err() != nil: // the client has disconnected
	default:
		h.Log.Error("request failed", "path", r.URL.Path, "err", err)
		answerError(w, request.Code(w.Header(), err), err)
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client has disconnected
}

func answerError(w http.ResponseWriter, code int, err error) {
	answer(w, code, map[string]string{"error": err.Error()})
}
