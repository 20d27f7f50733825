package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/validate"
)

// validateOptions are the flags of `varve validate`.
type validateOptions struct {
	files     []string
	recursive bool
	strict    bool
	format    string
}

func newValidate() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate -f FILE|DIRECTORY ...",
		Short: "Check manifests of Archivers, ArchiveGroups and ArchivePolicies",
		Long: `Checks manifests in files without a cluster, for example in the CI of a Git repository:

  as an API server does: unknown fields, types, bounds and the rules of the CRDs;
  as the operator does: PVs in several groups, rules that apply to no PV, names that look
  like patterns, PV lists in ConfigMaps, owners of PVs.

Each finding has the file, line and column. The program has the CRDs of its own version, so
use the version that runs in the cluster.

The files may have several documents and Lists, and - is stdin. A directory means its *.yaml,
*.yml and *.json files, with --recursive also those of its subdirectories. Objects of other
kinds are skipped, except ConfigMaps.

Rules about changes, such as a field that cannot be changed, need the former object and are
not checked; "kubectl apply --dry-run=server" checks them. ChannelFinder is not queried. Notes
name what was not checked.

Exit codes: 0 no errors (there may be warnings), 1 errors, 2 a file cannot be read.`,
		Example: `  # All manifests of a repository:
  varve validate -R -f .

  # What kustomize makes of an overlay, where every kind must be one of Varve's:
  kubectl kustomize overlays/ring | varve validate --strict -f -

  # The errors, for a program:
  varve validate -f groups -o json | jq -r '.findings[] | select(.severity == "error") | .message'`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args, time.Now()) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "file", "f", nil, "file or directory with manifests, or - for stdin (repeatable; further arguments are files, too)")
	f.BoolVarP(&o.recursive, "recursive", "R", false, "also read the subdirectories of directories")
	f.BoolVar(&o.strict, "strict", false, "refuse objects of kinds that are not Varve's; ConfigMaps are allowed")
	f.StringVarP(&o.format, "format", "o", "text", "output format: text or json")
	completeFlag(cmd, "format", []string{"text", "json"})
	return cmd
}

func (o *validateOptions) run(cmd *cobra.Command, args []string, now time.Time) error {
	if o.format != "text" && o.format != "json" {
		return exitError{fmt.Errorf("--format: %q is not text or json", o.format), exitFailed}
	}
	files, err := o.read(append(o.files, args...), cmd.InOrStdin())
	if err != nil {
		return exitError{err, exitFailed}
	}
	report := validate.Check(files, validate.Options{Strict: o.strict, Now: now})
	if o.format == "json" {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(report)
	} else {
		err = printReport(cmd.OutOrStdout(), report)
	}
	if err != nil {
		return exitError{err, exitFailed}
	}
	if n := report.Count(validate.SeverityError); n > 0 {
		return exitError{fmt.Errorf("the manifests have %s", numbered(n, "error")), exitProblems}
	}
	return nil
}

// read reads all files of the given paths, each once.
func (o *validateOptions) read(paths []string, stdin io.Reader) (files []validate.File, err error) {
	if len(paths) == 0 {
		return nil, errors.New("--file is required: a file or directory with manifests, or - for stdin")
	}
	read := map[string]bool{}
	for _, path := range paths {
		if path == "-" {
			if read[path] {
				return nil, errors.New("--file: stdin (-) is given twice")
			}
			read[path] = true
			text, err := manifest.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("stdin: %w", err)
			}
			files = append(files, validate.File{Name: "stdin", Text: text})
			continue
		}
		names, err := manifest.Files(path, o.recursive)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if read[name] {
				continue
			}
			read[name] = true
			text, err := manifest.ReadFile(name)
			if err != nil {
				return nil, err
			}
			files = append(files, validate.File{Name: name, Text: text})
		}
	}
	return files, nil
}

// printReport prints a report as text, a line for each finding.
func printReport(out io.Writer, r *validate.Report) error {
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		b.WriteString(placeOf(f.File, f.Line, f.Column) + ": " + f.Severity + ": ")
		if f.Kind != "" {
			b.WriteString(printable(f.Kind+" "+f.Object) + ": ")
		}
		if f.PV != "" {
			b.WriteString(printable(f.PV) + ": ")
		}
		b.WriteString(printable(f.Message) + "\n")
		if f.Advice != "" {
			b.WriteString("    " + printable(f.Advice) + "\n")
		}
	}
	for i := range r.Objects {
		if o := &r.Objects[i]; o.Result == validate.Skipped {
			what := strings.TrimSuffix("skipped "+printable(o.Object), " ")
			fmt.Fprintf(&b, "%s: %s: %s\n", placeOf(o.File, o.Line, o.Column), what, printable(o.Foreign()))
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", printable(note))
	}
	fmt.Fprintf(&b, "%s: %d valid, %d invalid, %d skipped; %s, %s\n", numbered(len(r.Objects), "object"),
		r.CountObjects(validate.Valid), r.CountObjects(validate.Invalid), r.CountObjects(validate.Skipped),
		numbered(r.Count(validate.SeverityError), "error"), numbered(r.Count(validate.SeverityWarning), "warning"))
	_, err := io.WriteString(out, b.String())
	return err
}

// numbered returns a number of things, such as 1 error.
func numbered(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// placeOf returns a place as compilers print it.
func placeOf(file string, line, column int) string {
	switch {
	case line == 0:
		return file
	case column == 0:
		return fmt.Sprintf("%s:%d", file, line)
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}
