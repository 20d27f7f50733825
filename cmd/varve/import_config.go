package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/groups/migration"
)

// importConfigOptions are the flags of `varve import config`.
type importConfigOptions struct {
	from      string
	dir       string
	archiver  string
	namespace string
	prefix    string
	check     bool
	aliases   string
}

func newImportConfig() *cobra.Command {
	var o importConfigOptions
	cmd := &cobra.Command{
		Use:   "config --from KIND FILE|URL",
		Short: "Make ArchiveGroups from the configuration of another archiver",
		Long: `Makes ArchiveGroups, and ConfigMaps with the names of the PVs, from the configuration of
another archiver. KIND is one of

  appliance            Archiver Appliance: the answer of exportConfig or getPVTypeInfo, or
                       the address of its mgmt web application
  rdb                  RDB archiver of CS-Studio and Phoebus: engineconfig XML
  channel-archiver     Channel Archiver: engineconfig XML
  cassandra-archiver   Cassandra archiver of CS-Studio: engineconfig XML
  list                 a PV in each line, or CSV with the columns pv, group, mode, period
                       (s), deadband, provider, paused, properties and keep

PVs with the same policy (of an engine: group) and the same settings become a group. Its
name depends only on these. The names of the PVs are sorted. So a repeated import of the
same configuration changes nothing, and a change of few PVs changes few lines.

With -o, the manifests are files in a directory, and DIR/not-imported.csv names each PV that
is left out, or archived in another way than before, with the reason. A repeated import
replaces the files that it has made, and no others. Without -o, the manifests are printed.

All manifests are checked by the rules of the CRD, and compiled: each PV must have the
settings of the source. With --check nothing is written, and the files in -o that would
change are printed.

Exit codes: 0 all PVs are in a group, 1 some are left out, or --check found changes, 2 the
import failed.`,
		Example: `  curl --fail http://appliance:17665/mgmt/bpl/exportConfig > appliance.json
  curl --fail http://appliance:17665/mgmt/bpl/getAllAliases > aliases.json
  varve import config --from appliance appliance.json --aliases aliases.json -o groups
  varve import config --from appliance http://appliance:17665 -o groups --check
  varve import config --from rdb engine.xml -o groups --archiver main --namespace epics
  varve import config --from list pvs.csv -o groups --prefix '^([A-Z]+\d+)'
  kubectl apply --namespace epics -f groups`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "kind of the source: appliance, rdb, channel-archiver, cassandra-archiver or list (required)")
	f.StringVarP(&o.dir, "output", "o", "", "write a file for each object to this directory")
	f.StringVar(&o.archiver, "archiver", "main", "name of the Archiver that captures the groups")
	f.StringVar(&o.namespace, "namespace", "", "namespace of the objects (default: that of the command that applies them)")
	f.StringVar(&o.prefix, "prefix", "", "separate groups by this part of the names: a regular expression, or its first group in parentheses")
	f.StringVar(&o.aliases, "aliases", "", "file with the answer of getAllAliases of the Appliance (default: given an address, the command calls getAllAliases)")
	f.BoolVar(&o.check, "check", false, "write nothing, and print which files would change")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

func (o *importConfigOptions) run(cmd *cobra.Command, source string) error {
	leftOut, changes, err := o.convert(cmd, source)
	switch {
	case err != nil:
		return exitError{err, exitFailed}
	case leftOut > 0:
		return exitError{fmt.Errorf("%d PVs are left out of the groups; not-imported.csv or the output above gives the reasons", leftOut), exitProblems}
	case o.check && !changes.Empty():
		return exitError{fmt.Errorf("the files in %s differ from the source; run the command without --check", o.dir), exitProblems}
	}
	return nil
}

// convert converts the configuration. It returns how many PVs are left out.
func (o *importConfigOptions) convert(cmd *cobra.Command, source string) (leftOut int, changes migration.Changes, err error) {
	opts := migration.Options{Archiver: o.archiver, Namespace: o.namespace}
	if o.prefix != "" {
		if opts.Prefix, err = regexp.Compile(o.prefix); err != nil {
			return 0, changes, fmt.Errorf("--prefix: %w", err)
		}
	}
	s, err := o.read(cmd.Context(), source)
	if err != nil {
		return 0, changes, err
	}
	errs := cmd.ErrOrStderr()
	leftOut = s.LeftOut()
	groups, err := migration.Plan(s, &opts)
	if err == nil && len(groups) == 0 {
		o.printNotes(errs, s)
	}
	var files []migration.File
	if err == nil {
		files, err = migration.Files(groups, s.Kind, &opts)
	}
	if err == nil {
		err = migration.Check(files, s)
	}
	if err != nil {
		return leftOut, changes, err
	}
	if o.dir == "" {
		o.printNotes(errs, s)
		if !o.check {
			err = printManifests(cmd.OutOrStdout(), files)
		}
	} else {
		changes, err = o.write(cmd.OutOrStdout(), files, s)
	}
	fmt.Fprintf(errs, "%d PVs in %d groups; %d PVs left out; %d notes about PVs that are archived in another way\n",
		len(s.Channels), len(groups), leftOut, len(s.Notes)-leftOut)
	return leftOut, changes, err
}

// write writes the files, or only compares them, and prints what differs.
func (o *importConfigOptions) write(out io.Writer, files []migration.File, s *migration.Source) (c migration.Changes, err error) {
	notes, err := migration.Notes(s)
	if err != nil {
		return c, err
	}
	files = append(files, migration.File{Name: migration.NotesFile, Text: notes})
	if o.check {
		c, err = migration.Compare(o.dir, files)
	} else {
		c, err = migration.Write(o.dir, files)
	}
	if err != nil {
		return c, fmt.Errorf("--output: %w", err)
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", c.Added}, {"changed", c.Changed}, {"removed", c.Removed}} {
		for _, name := range part.names {
			if _, err := fmt.Fprintf(out, "%s %s\n", part.what, name); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func (o *importConfigOptions) printNotes(w io.Writer, s *migration.Source) {
	for _, n := range s.Notes {
		fmt.Fprintf(w, "%s: %s: %s\n", n.PV, n.What, n.Reason)
	}
}

func printManifests(w io.Writer, files []migration.File) error {
	for _, f := range files {
		if _, err := fmt.Fprintf(w, "---\n%s", f.Text); err != nil {
			return err
		}
	}
	return nil
}

// parser returns the function that reads the configuration of --from.
func (o *importConfigOptions) parser() (func(io.Reader) (*migration.Source, error), error) {
	if o.aliases != "" && o.from != "appliance" {
		return nil, errors.New("--aliases requires --from appliance")
	}
	switch o.from {
	case "appliance":
		return migration.Appliance, nil
	case "rdb", "channel-archiver", "cassandra-archiver":
		return func(in io.Reader) (*migration.Source, error) { return migration.EngineXML(in, o.from) }, nil
	case "list":
		return migration.List, nil
	}
	return nil, fmt.Errorf("--from: %q is not appliance, rdb, channel-archiver, cassandra-archiver or list", o.from)
}

// read reads the configuration.
func (o *importConfigOptions) read(ctx context.Context, source string) (*migration.Source, error) {
	parse, err := o.parser()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://") {
		f, err := os.Open(source)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		s, err := parse(f)
		if err != nil || o.aliases == "" {
			return s, err
		}
		return s, o.addAliases(s)
	}
	appliance := source
	if o.from == "appliance" {
		if source, err = exportURL(source); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	body, err := fetchConfig(ctx, source)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	s, err := parse(io.LimitReader(body, maxConfig))
	switch {
	case err != nil || o.from != "appliance":
		return s, err
	case o.aliases != "":
		return s, o.addAliases(s)
	case !strings.HasSuffix(source, "/exportConfig"): // such as the type info of one PV
		return s, nil
	}
	return s, o.fetchAliases(ctx, s, appliance)
}

// addAliases adds the aliases of the file of --aliases.
func (o *importConfigOptions) addAliases(s *migration.Source) error {
	f, err := os.Open(o.aliases)
	if err != nil {
		return fmt.Errorf("--aliases: %w", err)
	}
	defer f.Close()
	if err := s.AddAliases(f); err != nil {
		return fmt.Errorf("--aliases: %w", err)
	}
	return nil
}

// fetchAliases adds the aliases of an Appliance.
func (o *importConfigOptions) fetchAliases(ctx context.Context, s *migration.Source, appliance string) error {
	source, err := exportURL(appliance)
	if err != nil {
		return err
	}
	body, err := fetchConfig(ctx, strings.TrimSuffix(source, "exportConfig")+"getAllAliases")
	if err != nil {
		return fmt.Errorf("reading the aliases: %w", err)
	}
	defer body.Close()
	return s.AddAliases(io.LimitReader(body, maxConfig))
}

// fetchTimeout bounds the time for reading a configuration. An Appliance needs minutes for a million PVs.
const fetchTimeout = 30 * time.Minute

// maxConfig is the maximum size of a configuration in bytes. That of a million PVs has about 2 GB.
const maxConfig = 16 << 30

// exportURL returns the address of exportConfig, given that or the address of an Appliance.
func exportURL(source string) (string, error) {
	u, err := url.Parse(source)
	if err != nil {
		return "", err
	}
	if !strings.Contains(u.Path, "/bpl/") {
		path := "mgmt/bpl/exportConfig"
		if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/mgmt") {
			path = "bpl/exportConfig"
		}
		u = u.JoinPath(path)
	}
	return u.String(), nil
}

func fetchConfig(ctx context.Context, source string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("%s answers %s; give the address of the Appliance, such as http://appliance:17665, or a file", source, res.Status)
	}
	return res.Body, nil
}
