// Package openapi describes the calls of an HTTP API once, for the server and for its clients:
//
//	                      ┌─ Call.Register ──▶ Query: parameters that are known, and in their limits ──▶ handler
//	Section: []Call ──────┤
//	of each package       └─ Document of all sections ──▶ OpenAPI 3.1, in JSON
//
// A Query panics if a handler reads a parameter that its call does not declare. So the document has
// every parameter that changes an answer. Package openapitest checks that servers do what the
// document says.
package openapi
