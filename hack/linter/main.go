// Command linter is golangci-lint with kube-api-linter as a plugin, which knows
// the conventions of Kubernetes for API types. `golangci-lint custom` makes the
// same from .custom-gcl.yml, but clones golangci-lint's repository to do so; this
// module needs no more than the Go module proxy, and its go.sum pins all of it.
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

// buildInfo tells what golangci-lint would tell of itself. It writes its version
// into its cache, so that another one does not take results from there.
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
