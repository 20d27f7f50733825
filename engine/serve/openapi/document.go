package openapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Info describes an API.
type Info struct{ Title, Version, Description string }

// Document returns the OpenAPI document of sections. It is the same for the same input. No two
// sections have the same path or the same name of a schema.
func Document(info Info, sections ...Section) []byte {
	paths, schemas := map[string]any{}, map[string]any{}
	for _, s := range sections {
		for i := range s.Calls {
			add(paths, s.Calls[i].template(), map[string]any{strings.ToLower(s.Calls[i].method()): s.Calls[i].operation()})
		}
		for name, schema := range s.Schemas {
			add(schemas, name, schema)
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(map[string]any{
		"openapi":    "3.1.0",
		"info":       map[string]any{"title": info.Title, "version": info.Version, "description": info.Description},
		"paths":      paths,
		"components": map[string]any{"schemas": schemas},
	}); err != nil {
		panic("BUG: " + err.Error())
	}
	return out.Bytes()
}

// add adds a part of the document. Two packages must not define the same part.
func add(parts map[string]any, name string, part any) {
	if parts[name] != nil {
		panic("BUG: two sections of the document have " + name)
	}
	parts[name] = part
}

func (c *Call) operation() map[string]any {
	o := map[string]any{"operationId": c.ID, "summary": c.Summary, "responses": c.responses()}
	if c.Description != "" {
		o["description"] = c.Description
	}
	if c.Body != "" {
		o["requestBody"] = map[string]any{
			"description": c.Body, "required": true, "content": map[string]any{"application/yaml": map[string]any{"schema": Schema{"type": "string"}}},
		}
	}
	var parameters []any
	for i := range c.Parameters {
		parameters = append(parameters, c.Parameters[i].describe())
	}
	if parameters != nil {
		o["parameters"] = parameters
	}
	return o
}

func (c *Call) responses() map[string]any {
	all := map[string]any{}
	for _, a := range c.Answers {
		content := map[string]any{}
		if a.JSON != nil {
			content["application/json"] = map[string]any{"schema": a.JSON}
		}
		for _, media := range a.Others {
			content[media] = map[string]any{"schema": Schema{"type": "string", "format": "binary"}}
		}
		all[strconv.Itoa(a.Code)] = map[string]any{"description": a.Description, "content": content}
	}
	return all
}

func (p *Parameter) describe() map[string]any {
	o := map[string]any{"name": p.Name, "in": "query", "description": p.Description, "schema": p.schema()}
	switch {
	case p.InPath:
		o["in"] = "path"
	case p.InHeader:
		o["in"] = "header"
	}
	if p.InPath || p.Required {
		o["required"] = true
	}
	switch n, err := strconv.Atoi(p.Example); {
	case p.Example == "":
	case p.Repeated > 0:
		o["example"] = []string{p.Example}
	case p.Kind == Integer && err == nil:
		o["example"] = n
	default:
		o["example"] = p.Example
	}
	if p.Repeated > 0 {
		o["style"], o["explode"] = "form", true
	}
	return o
}

func (p *Parameter) schema() Schema {
	s := Schema{"type": "string"}
	switch p.Kind {
	case Integer:
		s = Schema{"type": "integer", "minimum": p.Min, "maximum": p.Max}
	case Choice:
		s["enum"] = p.Choices
	}
	if p.Repeated > 0 {
		return Schema{"type": "array", "items": s, "maxItems": p.Repeated}
	}
	if n, err := strconv.Atoi(p.Default); p.Kind == Integer && err == nil {
		s["default"] = n
	} else if p.Default != "" {
		s["default"] = p.Default
	}
	return s
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
