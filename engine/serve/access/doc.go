// Package access decides who sends a request and which PVs that identity may read:
//
//	file ──Parse──▶ Config ──New──▶ Access
//	                                  │
//	request ──▶ Identify: Authorization: Bearer … ─▶ tokens, jwt, kubernetes ─┐
//	                      no credentials ──▶ trustedProxy, networks, anonymous┼─▶ Identity ─▶ Request in the context
//	                                                                          └─▶ Refusal: 401
//	engine/serve/visible ──▶ Request.Reads, Request.Sees: rules of the readers
//
// docs/design/access.md explains the design. Errors of the file name the field, and errors that are
// sent to clients name no PV.
package access
