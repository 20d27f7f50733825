// Package openapitest checks that a server does what its OpenAPI document says:
//
//	openapi.Call ──▶ requests ──Get──▶ server ──▶ answers: status, type and schema as in the document
//
// A package that describes calls runs Effects and Refusals on them in its tests.
package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"varve.dev/varve/engine/serve/openapi"
)

// Pair is two queries whose answers must differ, because of one parameter: that without it, or with
// another value, and that with it.
type Pair [2]string

// Contract is a server, and the document that describes it.
type Contract struct {
	T testing.TB
	// Get requests a path with a query. It returns the answer and its content type.
	Get func(path string) (code int, contentType, body string)
	// Paths has the value of the last part of a path, by the ID of the call.
	Paths map[string]string

	doc *openapi3.T
}

// Load loads a document, and checks that it is one of OpenAPI 3.
func (c *Contract) Load(text string) {
	c.T.Helper()
	var err error
	if c.doc, err = openapi3.NewLoader().LoadFromData([]byte(text)); err == nil {
		err = c.doc.Validate(c.T.Context())
	}
	if err != nil {
		c.T.Fatal(err)
	}
}

// Answer checks that the document describes an answer, and returns it.
func (c *Contract) Answer(call *openapi.Call, query string) string {
	c.T.Helper()
	path, template := call.Path, strings.ReplaceAll(call.Path, "...}", "}")
	if i := strings.IndexByte(path, '{'); i >= 0 {
		path = path[:i] + c.Paths[call.ID]
	}
	code, contentType, text := c.Get(path + "?" + query)
	item := c.doc.Paths.Find(template)
	if item == nil {
		c.T.Fatalf("the document does not have %s", template)
	}
	answer := item.Get.Responses.Status(code)
	if answer == nil {
		c.T.Errorf("%s?%s returns %d, which the document does not have: %s", path, query, code, text)
		return text
	}
	media, _, _ := strings.Cut(contentType, ";")
	content := answer.Value.Content[media]
	if content == nil {
		c.T.Errorf("%s?%s returns %d in %q, which the document does not have", path, query, code, media)
		return text
	}
	if media != "application/json" {
		return text
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		c.T.Fatalf("%s?%s: %v", path, query, err)
	}
	if err := c.doc.ValidateSchemaJSON(content.Schema.Value, v, openapi3.EnableJSONSchema2020()); err != nil {
		c.T.Errorf("%s?%s does not fit its schema: %v\n%s", path, query, err, text)
	}
	return text
}

// Effects checks that each parameter of the query changes an answer, and that the answers are as the
// document describes them. pairs are by the ID of the call and the name of the parameter.
func (c *Contract) Effects(calls []openapi.Call, pairs map[string]map[string]Pair) {
	c.T.Helper()
	for _, call := range calls {
		names := inQuery(&call)
		for _, p := range names {
			pair, tested := pairs[call.ID][p.Name]
			if !tested {
				c.T.Errorf("no test shows what the parameter %s of %s does", p.Name, call.Path)
				continue
			}
			without, with := c.Answer(&call, pair[0]), c.Answer(&call, pair[1])
			if without == with || strings.Contains(without, `"error"`) || strings.Contains(with, `"error"`) {
				c.T.Errorf("%s: %s and %s return\n%s\n%s", call.Path, pair[0], pair[1], without, with)
			}
		}
		if len(names) == 0 {
			c.Answer(&call, "")
		}
	}
}

// Refusals checks that each call refuses all parameters that it does not declare, values outside of the
// declared limits, repeated parameters, and requests without a parameter that it requires. others are
// names of parameters beside those of the calls.
func (c *Contract) Refusals(calls []openapi.Call, others ...string) {
	c.T.Helper()
	all := map[string]bool{}
	for _, name := range others {
		all[name] = true
	}
	for _, call := range calls {
		for _, p := range inQuery(&call) {
			all[p.Name] = true
		}
	}
	for _, call := range calls {
		declared := map[string]bool{}
		for _, p := range inQuery(&call) {
			declared[p.Name] = true
			c.refuseValues(&call, &p)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !declared[name] {
				c.refuse(&call, name+"=1", `\"`+name+`\" is unknown`)
			}
		}
	}
}

// refuseValues checks that a call refuses bad values of a parameter.
func (c *Contract) refuseValues(call *openapi.Call, p *openapi.Parameter) {
	c.T.Helper()
	switch p.Kind {
	case openapi.Integer:
		c.refuse(call, fmt.Sprintf("%s=%d", p.Name, p.Max+1), p.Name)
		c.refuse(call, fmt.Sprintf("%s=%d", p.Name, p.Min-1), p.Name)
		c.refuse(call, p.Name+"=1.5", "whole number")
	case openapi.Choice:
		c.refuse(call, p.Name+"=bogus", p.Choices[0])
	case openapi.Time:
		c.refuse(call, p.Name+"=bogus", p.Name)
	}
	if p.Repeated > 0 {
		c.refuse(call, url.Values{p.Name: slices.Repeat([]string{"A"}, p.Repeated+1)}.Encode(), fmt.Sprint(p.Repeated))
	} else {
		c.refuse(call, p.Name+"=1&"+p.Name+"=1", "occurs 2 times")
	}
	if p.Required {
		c.refuse(call, "", "it is required")
		c.refuse(call, p.Name+"=", "it is required")
	}
}

// refuse checks that a call refuses a query with an error about says.
func (c *Contract) refuse(call *openapi.Call, query, says string) {
	c.T.Helper()
	if got := c.Answer(call, query); !strings.Contains(got, `"error":"parameter `) || !strings.Contains(got, says) {
		c.T.Errorf("%s?%s returns %.200s, want an error about %s", call.Path, query, got, says)
	}
}

// inQuery returns the parameters of a call that are in the query of its URL.
func inQuery(call *openapi.Call) (all []openapi.Parameter) {
	for _, p := range call.Parameters {
		if !p.InPath && !p.InHeader {
			all = append(all, p)
		}
	}
	return all
}
