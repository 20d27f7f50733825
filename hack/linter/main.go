// Command linter is golangci-lint with the plugin kube-api-linter, which checks Kubernetes'
// conventions for API types. `golangci-lint custom` builds the same program, but clones
// golangci-lint's repository for it. This module needs only the Go module proxy, and its go.sum
// pins all dependencies.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
	_ "sigs.k8s.io/kube-api-linter" // registers itself as a plugin
)

func main() {
	if err := commands.Execute(buildInfo()); err != nil {
		fmt.Fprintln(os.Stderr, "linter:", err)
		os.Exit(exitcodes.Failure)
	}
}

// buildInfo returns the version of golangci-lint. Golangci-lint stores the version in its cache, so
// that a different version does not use the cached results.
func buildInfo() commands.BuildInfo {
	out := commands.BuildInfo{Version: "unknown", Commit: "unknown", Date: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	out.GoVersion = info.GoVersion
	for _, dep := range info.Deps {
		switch dep.Path {
		case "github.com/golangci/golangci-lint/v2":
			out.Version = strings.TrimPrefix(dep.Version, "v")
		case "sigs.k8s.io/kube-api-linter":
			out.Commit = "with kube-api-linter " + dep.Version
		}
	}
	return out
}
