package peer

import (
	"fmt"
	"net/url"
	"strconv"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
)

// valuesOf returns the parameters of a question.
func valuesOf(q *query.RecentRequest) url.Values {
	v := url.Values{"pv": {q.PV}, "from": {strconv.FormatInt(q.From, 10)}, "to": {strconv.FormatInt(q.To, 10)}}
	for _, shard := range q.Shards {
		v.Add("shard", strconv.Itoa(shard))
	}
	return v
}

// questionOf parses the parameters of a question. Errors name the one that is wrong.
func questionOf(v url.Values) (q query.RecentRequest, err error) {
	if len(v["pv"]) != 1 || v.Get("pv") == "" {
		return q, fmt.Errorf("parameter pv: the name of a PV is needed")
	}
	q.PV = pvname.Canonical(v.Get("pv"))
	for name, at := range map[string]*int64{"from": &q.From, "to": &q.To} {
		if *at, err = strconv.ParseInt(v.Get(name), 10, 64); err != nil {
			return q, fmt.Errorf("parameter %s: %q is no time in ns since 1970", name, v.Get(name))
		}
	}
	for _, text := range v["shard"] {
		shard, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return q, fmt.Errorf("parameter shard: %q is not the number of a shard", text)
		}
		q.Shards = append(q.Shards, int(shard))
	}
	return q, nil
}
