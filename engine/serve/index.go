package serve

import (
	"fmt"
	"net/http"
)

// index lists the paths, for people who open the address in a browser.
func (c *Config) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, page, c.Version)
}

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Varve</title>
<h1>Varve %s</h1>
<p>An archiver for EPICS.</p>
<h2>State</h2>
<ul>
<li><a href="/api/v1/status">/api/v1/status</a>: channels and samples by group
<li><a href="/api/v1/channels?limit=20">/api/v1/channels?pv=GLOB&amp;state=&amp;group=&amp;limit=&amp;after=</a>
<li><a href="/metrics">/metrics</a>, <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>
</ul>
<h2>Data</h2>
<ul>
<li>/api/v1/samples?pv=NAME&amp;from=2026-01-31T12:00:00Z&amp;to=2026-01-31T13:00:00Z
<li>/api/v1/marks?pv=NAME&amp;from=&amp;to=: why data is missing
<li>/api/v1/metadata?pv=NAME&amp;at= or &amp;from=&amp;to=: units, limits and properties over time
</ul>
<h2>API of the EPICS Archiver Appliance</h2>
<ul>
<li>/retrieval/data/getData.json?pv=NAME&amp;from=&amp;to= and .raw .csv .qw .txt
<li><a href="/retrieval/bpl/getMatchingPVs?pv=*&amp;limit=20">/retrieval/bpl/getMatchingPVs?pv=GLOB</a>, searchForPVsRegex, getMetadata?pv=NAME, <a href="/retrieval/bpl/getVersion">getVersion</a>
<li><a href="/mgmt/bpl/getAllPVs?limit=20">/mgmt/bpl/getAllPVs</a>, <a href="/mgmt/bpl/getPVStatus?pv=*&amp;limit=20">getPVStatus</a>, getPVTypeInfo?pv=NAME, getPVDetails?pv=NAME
</ul>
`
