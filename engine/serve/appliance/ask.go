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

// ask is what a client asks of getData.
type ask struct {
	targets  []target
	pp       *postprocess.Operator // for targets that have none of their own, or nil
	from, to int64                 // ns since 1970
	metadata bool                  // fetchLatestMetadata
	ext      string
}

// parseAsk reads a request for data. Other parameters that clients send, such as
// donotchunk and retiredPVTemplate, mean nothing here.
func parseAsk(file string, q url.Values, now time.Time) (a ask, code int, err error) {
	call, ext, _ := strings.Cut(file, ".")
	if call != "getData" && call != "getDataForPVs" {
		return a, http.StatusNotFound, fmt.Errorf("%s is not served; getData is", call)
	}
	if encoders[ext] == nil {
		return a, http.StatusNotFound, fmt.Errorf("getData.%s is not served; %s are", ext, extensions())
	}
	a = ask{ext: ext, metadata: q.Get("fetchLatestMetadata") == "true"}
	pvs := q["pv"]
	if call == "getDataForPVs" {
		pvs = splitNames(pvs)
	}
	if err := checkPVs(pvs); err != nil {
		return a, http.StatusBadRequest, err
	}
	if len(pvs) > 1 && (ext == "csv" || ext == "txt") {
		return a, http.StatusBadRequest, fmt.Errorf("getData.%s takes one parameter pv", ext)
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

// maxPVs bounds the PVs of one request.
const maxPVs = 1000

func checkPVs(pvs []string) error {
	if len(pvs) == 0 || pvs[0] == "" {
		return errors.New("the parameter pv is needed")
	}
	if len(pvs) > maxPVs {
		return fmt.Errorf("%d PVs in one request are more than %d", len(pvs), maxPVs)
	}
	return nil
}
