package serve

import (
	"net/http"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestFilesAreServedAsTheyAre checks that the server does not compress a file: ranges and the length are
// those of the file itself, and web pages may read the headers that ranges need. The file says where it comes from.
func TestFilesAreServedAsTheyAre(t *testing.T) {
	r := newRig(t)
	r.put("A", ramp(newYear-48*3600*second, 5000), 1)
	const path = "/api/v1/files/A/2025-12-30.parquet"
	res, whole, err := r.do(http.MethodGet, path, "", "Accept-Encoding", "gzip")
	r.check(err)
	h := res.Header
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(whole, "PAR1") || h.Get("Content-Encoding") != "" || res.ContentLength != int64(len(whole)) ||
		h.Get("Accept-Ranges") != "bytes" || h.Get("No-Gzip-Compression") != "" || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "Content-Range") {
		t.Errorf("the answer is %d, %d bytes, %v", res.StatusCode, len(whole), h)
	}
	f, err := parquet.OpenFile(strings.NewReader(whole), int64(len(whole)))
	r.check(err)
	name, _ := f.Lookup("archive")
	if version, _ := f.Lookup("version"); name != "lab/main" || version != "Varve 1.2.3" || h.Get("Varve-Archive") != name || h.Get("Varve-Version") != version {
		t.Errorf("the file is of the archive %q, written by %q; the headers are %v", name, version, h)
	}
	res, part, err := r.do(http.MethodGet, path, "", "Accept-Encoding", "gzip", "Range", "bytes=-2000", "If-Range", h.Get("ETag"))
	r.check(err)
	if res.StatusCode != http.StatusPartialContent || part != whole[len(whole)-2000:] {
		t.Errorf("the range is %d, %d bytes, %v", res.StatusCode, len(part), res.Header)
	}
	res, _, err = r.do(http.MethodHead, path, "", "Accept-Encoding", "gzip")
	r.check(err)
	if res.ContentLength != int64(len(whole)) || res.Header.Get("ETag") != h.Get("ETag") {
		t.Errorf("HEAD returns %d, %v", res.ContentLength, res.Header)
	}
}
