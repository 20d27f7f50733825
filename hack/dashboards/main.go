// Command dashboards writes the dashboards of the chart varve-operator for Grafana:
//
//	overview.go, engine.go, retrieval.go, storage.go ── tables of panels ──▶ charts/varve-operator/files/dashboards/*.json
//
// test/alerts checks the queries against the metrics that exist, and that alerts name panels that exist.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

const folder = "charts/varve-operator/files/dashboards"

// A dashboard is a table of panels in rows. Variables narrow down what the queries of all panels select.
type dashboard struct {
	name, title, text string
	variables         []variable
	rows              []row
}

// A variable is a label that users select values of. It takes the values from the series of a metric.
type variable struct{ label, series string }

type row struct {
	title  string
	panels []panel
}

// A panel is a plot. Its ID must stay, because alerts and links name it.
//
// In queries, $in stands for matchers of the namespace and the service of the selected archive, and $of for a
// matcher of the label archiver or group of the operator's metrics.
type panel struct {
	id                int
	title, unit, text string
	queries           []query
}

type query struct{ expr, legend string }

// Units of Grafana.
const (
	perSecond      = "cps"
	seconds        = "s"
	bytesIEC       = "bytes"
	bytesPerSecond = "binBps"
	share          = "percentunit"
	count          = "short"
)

func main() {
	dashboards := []dashboard{overview, engine, retrieval, storage}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		log.Fatal(err)
	}
	for i := range dashboards {
		d := &dashboards[i]
		text, err := d.render()
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, d.name+".json"), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// render returns the dashboard in the JSON model of Grafana.
func (d *dashboard) render() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(d.model()); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", d.name, err)
	}
	return b.Bytes(), nil
}

// expand replaces the abbreviations of a query. $__rate_interval is at least four scrape intervals.
func (d *dashboard) expand(expr string) string {
	var in []string
	for _, v := range d.variables {
		in = append(in, fmt.Sprintf(`%s=~"$%s"`, v.label, v.label))
	}
	return strings.NewReplacer(
		"$in", strings.Join(in, ","),
		"$of", `archiver=~"$namespace/.*"`,
		"$groups", `group=~"$namespace/.*"`,
		"[$r]", "[$__rate_interval]",
	).Replace(expr)
}
