// Package samples has the ArchiveGroups that varve demo archives:
//
//	*.yaml ──embedded──▶ Groups ──▶ varve demo
package samples

import "embed"

// Groups has the files of the groups.
//
//go:embed *.yaml
var Groups embed.FS
