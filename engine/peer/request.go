package peer

import (
	"fmt"
	"net/url"
	"strconv"

	"varve.dev/varve/engine/query"
)

// valuesOf encodes a request as URL parameters.
func valuesOf(q *query.RecentRequest) url.Values {
	v := url.Values{"pv": {q.PV}, "from": {strconv.FormatInt(q.From, 10)}, "to": {strconv.FormatInt(q.To, 10)}}
	for _, shard := range q.Shards {
		v.Add("shard", strconv.Itoa(shard))
	}
	return v
}

// requestOf parses the URL parameters of a request. Errors name the parameter.
func requestOf(v url.Values) (q query.RecentRequest, err error) {
	if len(v["pv"]) != 1 || v.Get("pv") == "" {
		return q, fmt.Errorf("parameter pv: exactly one name of a PV is required")
	}
	q.PV = v.Get("pv") // as it is: the retrieval pod has checked who may read this name
	for name, at := range map[string]*int64{"from": &q.From, "to": &q.To} {
		if *at, err = strconv.ParseInt(v.Get(name), 10, 64); err != nil {
			return q, fmt.Errorf("parameter %s: %q is not a time in ns since 1970", name, v.Get(name))
		}
	}
	for _, text := range v["shard"] {
		shard, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return q, fmt.Errorf("parameter shard: %q is not a shard number", text)
		}
		q.Shards = append(q.Shards, int(shard))
	}
	return q, nil
}
