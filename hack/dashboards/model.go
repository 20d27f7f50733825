package main

import (
	"fmt"
	"strings"
)

// object is an object of Grafana's JSON model. Its keys are sorted in the files.
type object map[string]any

const (
	width, height = 8, 8 // of a panel, in cells; a row has 24 cells
	rowWidth      = 24
)

// prometheus is the data source that users select.
var prometheus = object{"type": "prometheus", "uid": "${datasource}"}

func (d *dashboard) model() object {
	return object{
		"uid": "varve-" + d.name, "title": d.title, "description": d.text, "tags": []string{"varve"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "30s",
		"time":       object{"from": "now-6h", "to": "now"},
		"templating": object{"list": d.templates()},
		"panels":     d.panels(),
		"links": []object{{
			"type": "dashboards", "title": "Varve", "tags": []string{"varve"}, "asDropdown": true, "keepTime": true, "includeVars": true,
		}},
	}
}

func (d *dashboard) templates() []object {
	list := []object{{"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"}}
	for i, v := range d.variables {
		var known []string // the variables before this one
		for _, before := range d.variables[:i] {
			known = append(known, fmt.Sprintf(`%s=~"$%s"`, before.label, before.label))
		}
		list = append(list, object{
			"type": "query", "name": v.label, "label": strings.ToUpper(v.label[:1]) + v.label[1:], "datasource": prometheus,
			"query":   object{"query": fmt.Sprintf("label_values(%s{%s}, %s)", v.series, strings.Join(known, ","), v.label), "refId": "A"},
			"refresh": 2, "sort": 1, "multi": true, "includeAll": true, "allValue": ".*",
			"current": object{"text": "All", "value": "$__all"},
		})
	}
	return list
}

// panels places the rows below each other. Grafana numbers rows like panels, so their IDs follow those of panels.
func (d *dashboard) panels() []object {
	var all []object
	y := 0
	for i, r := range d.rows {
		all = append(all, object{"type": "row", "id": 1000 + i, "title": r.title, "collapsed": false, "panels": []object{}, "gridPos": object{"x": 0, "y": y, "w": rowWidth, "h": 1}})
		y++
		for j := range r.panels {
			x := j * width
			all = append(all, d.panel(&r.panels[j], object{"x": x % rowWidth, "y": y + x/rowWidth*height, "w": width, "h": height}))
		}
		y += (len(r.panels)*width + rowWidth - 1) / rowWidth * height
	}
	return all
}

func (d *dashboard) panel(p *panel, place object) object {
	var targets []object
	for i, q := range p.queries {
		targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": prometheus, "expr": d.expand(q.expr), "legendFormat": q.legend})
	}
	return object{
		"type": "timeseries", "id": p.id, "title": p.title, "description": p.text, "datasource": prometheus, "gridPos": place, "targets": targets,
		"fieldConfig": object{
			"defaults":  object{"unit": p.unit, "min": 0, "custom": object{"fillOpacity": 10, "showPoints": "never"}},
			"overrides": []object{},
		},
		"options": object{
			"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": object{"mode": "multi", "sort": "desc"},
		},
	}
}
