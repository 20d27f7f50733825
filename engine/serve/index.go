package serve

import (
	"fmt"
	"net/http"
)

// index lists the paths of the APIs. Its links are relative, so that they work behind a path prefix.
func (c *Config) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, page, c.Version)
}

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Varve</title>
<h1>Varve %s</h1>
<p>An archiver for EPICS. <a href="../">Plot PVs</a>, <a href="../pvs">list PVs</a></p>
<h2>State</h2>
<ul>
<li><a href="../api/v1/status">/api/v1/status</a>: channels and samples by group
<li><a href="../api/v1/archive">/api/v1/archive</a>: engines, shards, storage, and what is wrong
<li><a href="../api/v1/groups">/api/v1/groups</a>, /api/v1/groups/NAMESPACE/NAME: settings and problems of groups
<li><a href="../api/v1/forecast">/api/v1/forecast</a>?days=: how large the archive and its groups become
<li>/api/v1/losses?from=&amp;to=&amp;group=: what was lost, by cause
<li><a href="../api/v1/channels?limit=20">/api/v1/channels?pv=GLOB&amp;state=&amp;group=&amp;limit=&amp;after=&amp;sort=</a>
<li><a href="../api/v1/pvs?limit=20">/api/v1/pvs?pv=GLOB&amp;state=&amp;group=&amp;cause=&amp;only=&amp;sort=&amp;order=&amp;offset=&amp;limit=</a>: the same as a table, with the number of PVs
<li><a href="../api/v1/names?limit=20">/api/v1/names?pv=GLOB&amp;limit=&amp;after= or &amp;near=NAME</a>
<li>/api/v1/why/NAME?at=: why a PV has no samples, or when the last one came
<li><a href="../metrics">/metrics</a>, <a href="../healthz">/healthz</a>, <a href="../readyz">/readyz</a>
</ul>
<h2>Data</h2>
<ul>
<li><a href="../api/v1/openapi.json">/api/v1/openapi.json</a>: a description of /api/v1 for programs
<li>/api/v1/samples?pv=NAME&amp;from=2026-01-31T12:00:00Z&amp;to=2026-01-31T13:00:00Z
<li>/api/v1/samples?pv=NAME&amp;pv=NAME&amp;from=&amp;to=&amp;align=1s&amp;fill=last, mean or linear: a table with common times
<li>/api/v1/samples?pv=NAME&amp;from=&amp;to=&amp;where=OTHER&gt;0.5: the samples while a condition holds
<li>/api/v1/intervals?where=NAME&gt;0.5&amp;from=&amp;to=: when a condition holds
<li>/api/v1/snapshot?pv=NAME&amp;pv=NAME&amp;at= or ?group=NAMESPACE/NAME: values, units and limits at a time
<li>/api/v1/files?pv=NAME&amp;from=&amp;to=: the days with samples, and /api/v1/files/NAME/2026-01-31.parquet: those of a day
<li>/api/v1/bins?pv=NAME&amp;pv=NAME&amp;from=&amp;to=&amp;points=1000&amp;samples=2000: few samples as they are, many as bins
<li>/api/v1/gaps?pv=NAME&amp;pv=NAME&amp;from=&amp;to=: times without updates, and their causes
<li>/api/v1/changes?from=&amp;to=&amp;pv=GLOB or &amp;group=NAMESPACE/NAME: the PVs whose behaviour changed most, compared with the time before
<li>/api/v1/live?pv=NAME&amp;pv=NAME: new samples as Server-Sent Events
<li>/api/v1/marks?pv=NAME&amp;from=&amp;to=: why data is missing
<li>/api/v1/storage?pv=NAME: what the store holds of a PV, by tier
<li>/api/v1/metadata?pv=NAME&amp;at= or &amp;from=&amp;to=: units, limits and properties over time
</ul>
<h2>JSON archive access 1.0</h2>
<ul>
<li><a href="../archive-access/api/1.0/archive/">/archive-access/api/1.0/archive/</a>, archive/1/channels-by-pattern/GLOB, archive/1/channels-by-regexp/RE, archive/1/samples/NAME?start=&amp;end=&amp;count= (times in ns since 1970)
</ul>
<h2>Prometheus, for Grafana</h2>
<ul>
<li>/prometheus/api/v1/query_range?query=NAME&amp;start=&amp;end=&amp;step= and query, labels, series, label values, metadata
</ul>
<h2>API of the EPICS Archiver Appliance</h2>
<ul>
<li>/retrieval/data/getData.json?pv=NAME&amp;from=&amp;to= and .raw .csv .qw .txt .jplot .svg .mat
<li>/retrieval/data/getDataAtTime?pv=NAME,NAME&amp;at=: the values at a time
<li><a href="../retrieval/bpl/getMatchingPVs?pv=*&amp;limit=20">/retrieval/bpl/getMatchingPVs?pv=GLOB</a>, searchForPVsRegex, getMetadata?pv=NAME, <a href="../retrieval/bpl/getVersion">getVersion</a>
<li><a href="../mgmt/bpl/getAllPVs?limit=20">/mgmt/bpl/getAllPVs</a>, <a href="../mgmt/bpl/getPVStatus?pv=*&amp;limit=20">getPVStatus</a>, getPVTypeInfo?pv=NAME, getPVDetails?pv=NAME, <a href="../mgmt/bpl/getEventRateReport?limit=20">getEventRateReport</a> and other reports
</ul>
`
