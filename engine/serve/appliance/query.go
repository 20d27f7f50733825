package appliance

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/serve/request"
)

// dataQuery is a request of getData.
type dataQuery struct {
	targets  []target
	pp       *postprocess.Func // for targets without one of their own; may be nil
	from, to int64             // ns since 1970
	metadata bool              // fetchLatestMetadata
	ext      string
}

// parseQuery parses a request for data. It ignores parameters that it does not know, such as
// donotchunk and retiredPVTemplate. code is the HTTP status code for an error.
func parseQuery(file string, q url.Values, now time.Time) (a dataQuery, code int, err error) {
	call, ext, _ := strings.Cut(file, ".")
	if call != "getData" && call != "getDataForPVs" {
		return a, http.StatusNotFound, fmt.Errorf("%s is not supported; use getData or getDataForPVs", call)
	}
	if encoders[ext] == nil {
		return a, http.StatusNotFound, fmt.Errorf("getData.%s is not supported; use one of %s", ext, extensions())
	}
	a = dataQuery{ext: ext, metadata: q.Get("fetchLatestMetadata") == "true"}
	pvs := q["pv"]
	if call == "getDataForPVs" {
		pvs = splitNames(pvs)
	}
	if err := checkPVs(pvs); err != nil {
		return a, http.StatusBadRequest, err
	}
	if len(pvs) > 1 && (ext == "csv" || ext == "txt") {
		return a, http.StatusBadRequest, fmt.Errorf("parameter pv: getData.%s takes a single PV", ext)
	}
	if a.from, a.to, err = request.Range(q, now); err != nil {
		return a, http.StatusBadRequest, err
	}
	if pp := q.Get("pp"); pp != "" {
		if a.pp, err = postprocess.Parse(pp); err != nil {
			return a, http.StatusBadRequest, fmt.Errorf("parameter pp: %w", err)
		}
	}
	for _, pv := range pvs {
		a.targets = append(a.targets, parseTarget(pv, a.pp))
	}
	return a, 0, nil
}

// maxPVs is the maximum number of PVs in one request.
const maxPVs = 1000

func checkPVs(pvs []string) error {
	if len(pvs) == 0 || pvs[0] == "" {
		return errors.New("parameter pv: the name of a PV is required")
	}
	if len(pvs) > maxPVs {
		return fmt.Errorf("parameter pv: the request names %d PVs, and may name at most %d", len(pvs), maxPVs)
	}
	return nil
}
