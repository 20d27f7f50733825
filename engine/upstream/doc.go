// Package upstream reads the samples of another archive over the network:
//
//	GET /retrieval/data/getData.raw ─▶ body ─▶ pbfile.Reader ─▶ checks ─▶ runs, in order of time
//	                                  bounds    lines of PB      name, order, repetition
//
// The other archive is an Archiver Appliance, or a Varve, which has the same call. A consumer takes a
// function with the signature of Appliance.Samples, so another kind of archive needs only that function.
//
// The package trusts nothing that arrives. An answer that ends early, hangs, is too long, is out of order
// or names another PV is an error, never a shorter answer.
package upstream
