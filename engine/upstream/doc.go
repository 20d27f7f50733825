// Package upstream reads the samples of another archive over the network:
//
//	Appliance:  /retrieval/data/getData.raw ─▶ body ─▶ pbfile.Reader ─┬▶ checks ─▶ runs, in order of time
//	JSONAccess: /archive/KEY/samples/PV ─────▶ body ─▶ items ─────────┘  name, order, repetition
//	                                           bounds
//
// The other archive is an Archiver Appliance, a Varve, which has the same calls, or a server of JSON archive access. A
// consumer takes a function with the signature of Appliance.Samples, so another kind of archive needs only that
// function.
//
// The package trusts nothing that arrives. An answer that ends early, hangs, is too long, is out of order
// or names another PV is an error, never a shorter answer.
package upstream
