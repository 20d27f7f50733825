// Command release builds a release of Varve into a folder, signs it, verifies it, and copies it to a registry:
//
//	commit ──build──▶ programs (linux/amd64, linux/arm64)      SHA256SUMS
//	                  licenses, SBOMs (CycloneDX)                   │ sign (cosign)
//	                  image/, chart-*/ (OCI layouts)                ▼
//	                  provenance.json (SLSA)        SHA256SUMS.sig, signatures/ (OCI layout) ──verify, push──▶ registry
//
// Two builds of one commit give equal bytes, in any folder and on any machine: see build.go for what they
// depend on. The signatures are in files of their own, since a signature has random bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

const usage = `usage: release COMMAND [FLAGS] DIR

  build   builds a release into the folder DIR
  sign    signs the release in DIR with cosign, and a private key of cosign
  verify  checks the sums, signatures, SBOMs and provenance of the release in DIR with cosign
  push    copies image, charts and signatures of the release in DIR to a registry

release COMMAND -h lists the flags of a command.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run runs the command that args name, and writes what it did to out.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		_, err := io.WriteString(out, usage)
		return err
	}
	command, ok := map[string]func(context.Context, *flag.FlagSet, []string, io.Writer) error{
		"build": runBuild, "sign": runSign, "verify": runVerify, "push": runPush,
	}[args[0]]
	if !ok {
		return fmt.Errorf("%q is not a command: use build, sign, verify or push", args[0])
	}
	return command(ctx, flag.NewFlagSet("release "+args[0], flag.ContinueOnError), args[1:], out)
}

// parse parses the flags in args, and returns the one argument after them.
func parse(flags *flag.FlagSet, args []string) (dir string, err error) {
	if err := flags.Parse(args); err != nil {
		return "", err
	}
	if flags.NArg() != 1 {
		return "", fmt.Errorf("give one folder after the flags, instead of %q", flags.Args())
	}
	return flags.Arg(0), nil
}

// semver matches the versions that Helm accepts, without the metadata after "+", which is not allowed in
// the tag of an image.
var semver = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

var commit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// runBuild checks the flags of build, and builds.
func runBuild(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	b := build{arches: []string{"amd64", "arm64"}, source: ".", out: out}
	flags.StringVar(&b.version, "version", "", "version, such as v1.2.3")
	flags.StringVar(&b.revision, "revision", "", "commit that is built, 40 hex digits")
	seconds := flags.Int64("time", 0, "time of that commit, in seconds since 1970; the only time that the release contains")
	flags.StringVar(&b.tools.sbom, "cyclonedx-gomod", "", "path of the program cyclonedx-gomod")
	flags.StringVar(&b.tools.helm, "helm", "", "path of the program helm")
	dir, err := parse(flags, args)
	if err != nil {
		return err
	}
	b.dir, b.created = dir, time.Unix(*seconds, 0).UTC()
	switch {
	case !semver.MatchString(b.version):
		return fmt.Errorf("-version %q is not a version such as v1.2.3 or v1.2.3-rc.1", b.version)
	case !commit.MatchString(b.revision):
		return fmt.Errorf("-revision %q is not a commit of 40 hex digits", b.revision)
	case *seconds <= 0:
		return errors.New("-time must be the time of the commit, in seconds since 1970")
	case b.tools.sbom == "" || b.tools.helm == "":
		return errors.New("-cyclonedx-gomod and -helm are required")
	}
	return b.run(ctx)
}

// chartVersion returns the version as charts have it, without the leading v.
func chartVersion(version string) string { return strings.TrimPrefix(version, "v") }
