package openapi

import (
	"cmp"
	"net/http"
	"strings"
)

// Kind is the kind of a parameter's values.
type Kind uint8

// The kinds of values.
const (
	Text    Kind = iota // any text
	Time                // a time as package moment parses it
	Integer             // from Min to Max
	Choice              // one of Choices
)

// Parameter describes a parameter of a call.
type Parameter struct {
	Name string
	Kind Kind
	// InPath is true for a part of the path, which is always required. InHeader is true for a header
	// of the request, which the handler reads itself.
	InPath, InHeader bool
	// Repeated is how many times the parameter may occur. 0 means once.
	Repeated int
	// Required is true if a request without the parameter is refused.
	Required bool
	// Min and Max are the bounds of an Integer.
	Min, Max int
	// Choices are the values of a Choice.
	Choices []string
	// Default is the value if the parameter is absent, or empty if there is none.
	Default string
	// Description says what the parameter does, and Example is a value.
	Description, Example string
}

// Answer describes the answers with a status code.
type Answer struct {
	Code        int
	Description string
	// JSON is the schema of the answer in JSON, and Others are the media types of other formats.
	JSON   Schema
	Others []string
}

// Call describes a request.
type Call struct {
	// Method is the HTTP method. The default is GET.
	Method string
	// Path is as in the patterns of http.ServeMux.
	Path string
	// ID is the name of the call in programs.
	ID                   string
	Summary, Description string
	Parameters           []Parameter
	// Body describes the body of the request, a text. It is empty if the request has none.
	Body    string
	Answers []Answer
}

// Pattern returns the pattern of the call for http.ServeMux.
func (c *Call) Pattern() string { return c.method() + " " + c.Path }

func (c *Call) method() string { return cmp.Or(c.Method, http.MethodGet) }

// template returns the path as OpenAPI writes it.
func (c *Call) template() string { return strings.ReplaceAll(c.Path, "...}", "}") }

// parameter returns a parameter by its name, or nil.
func (c *Call) parameter(name string) *Parameter {
	for i := range c.Parameters {
		if c.Parameters[i].Name == name {
			return &c.Parameters[i]
		}
	}
	return nil
}
