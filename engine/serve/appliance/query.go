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
	targets []target
	pp      *postprocess.Func // for targets without one of their own; may be nil
	// ranges are the time ranges, in order, without overlap. from and to are the start of the
	// first one and the end of the last one. All are in ns since 1970.
	ranges   []timeRange
	from, to int64
	metadata bool // fetchLatestMetadata
	reduced  bool // usereduced: means of rollups, of PVs that have rollups and no post-processor
	ext      string
}

type timeRange struct{ from, to int64 }

// dataParameters are the parameters of getData. Clients send the ignored ones to an Appliance that
// reads a Channel Archiver or retired PVs, or to switch off chunks of HTTP, which all clients of
// this server understand.
var dataParameters = request.Known{
	Once:     []string{"from", "to", "timeranges", "fetchLatestMetadata", "pp", "usereduced"},
	Repeated: []string{"pv"},
	Ignored:  []string{"donotchunk", "ca_count", "ca_how", "retiredPVTemplate"},
}

// parseQuery parses a request for data. code is the HTTP status code for an error.
func parseQuery(file string, q url.Values, now time.Time) (a dataQuery, code int, err error) {
	call, ext, _ := strings.Cut(file, ".")
	if call != "getData" && call != "getDataForPVs" {
		return a, http.StatusNotFound, fmt.Errorf("%s is not supported; use getData, getDataForPVs or getDataAtTime", call)
	}
	if ext == "flx" {
		return a, http.StatusNotImplemented, fmt.Errorf("%s.flx is not supported: it was for Adobe Flex; use one of %s", call, extensions())
	}
	if _, known := formats[ext]; !known {
		return a, http.StatusNotFound, fmt.Errorf("getData.%s is not supported; use one of %s", ext, extensions())
	}
	a.ext = ext
	if err := a.parse(call, q, now); err != nil {
		return a, http.StatusBadRequest, err
	}
	return a, 0, nil
}

func (a *dataQuery) parse(call string, q url.Values, now time.Time) error {
	if err := dataParameters.Check(q); err != nil {
		return err
	}
	pvs := q["pv"]
	if call == "getDataForPVs" {
		pvs = splitNames(pvs)
	}
	if err := checkPVs(pvs); err != nil {
		return err
	}
	if len(pvs) > 1 && formats[a.ext].single {
		return fmt.Errorf("parameter pv: getData.%s takes a single PV", a.ext)
	}
	if err := a.parseRanges(q, now); err != nil {
		return err
	}
	if err := a.parseSwitches(q); err != nil {
		return err
	}
	var err error
	if pp := q.Get("pp"); pp != "" {
		if a.pp, err = postprocess.Parse(pp); err != nil {
			return fmt.Errorf("parameter pp: %w", err)
		}
	}
	for _, pv := range pvs {
		a.targets = append(a.targets, parseTarget(pv, a.pp))
	}
	return nil
}

// parseSwitches parses the parameters that are true or false.
func (a *dataQuery) parseSwitches(q url.Values) (err error) {
	if a.metadata, err = boolean(q, "fetchLatestMetadata"); err != nil {
		return err
	}
	a.reduced, err = boolean(q, "usereduced")
	return err
}

func boolean(q url.Values, name string) (bool, error) {
	switch text := strings.ToLower(q.Get(name)); text {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	default:
		return false, fmt.Errorf("parameter %s: %.100q is neither true nor false", name, text)
	}
}

// maxRanges is the maximum number of time ranges in one request.
const maxRanges = 100

// parseRanges parses the time range, or the list of starts and ends in timeranges.
func (a *dataQuery) parseRanges(q url.Values, now time.Time) (err error) {
	if q.Get("timeranges") == "" {
		a.from, a.to, err = request.Range(q, now)
		a.ranges = []timeRange{{a.from, a.to}}
		return err
	}
	if q.Has("from") || q.Has("to") {
		return errors.New("parameter timeranges: it replaces from and to; leave them out")
	}
	times := strings.Split(q.Get("timeranges"), ",")
	if len(times)%2 != 0 || len(times) > 2*maxRanges {
		return fmt.Errorf("parameter timeranges: %d times are not 1 to %d pairs of a start and an end", len(times), maxRanges)
	}
	for i := 0; i < len(times); i += 2 {
		var r timeRange
		if r.from, r.to, err = request.Range(url.Values{"from": {times[i]}, "to": {times[i+1]}}, now); err != nil {
			return fmt.Errorf("parameter timeranges, range %d: %w", i/2+1, err)
		}
		if i > 0 && r.from < a.to {
			return fmt.Errorf("parameter timeranges, range %d: it begins before the range before it ends", i/2+1)
		}
		a.ranges, a.to = append(a.ranges, r), r.to
	}
	a.from = a.ranges[0].from
	return nil
}

// holds returns how many bytes the answer may hold, beyond those that every read holds.
func (a *dataQuery) holds() (bytes int64) {
	for i := range a.targets {
		if op := a.targets[i].op; op != nil { // PVs are read one after the other
			bytes = max(bytes, op.Holds())
		}
	}
	if a.ext == "mat" {
		bytes += maxMat
	}
	return bytes
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
