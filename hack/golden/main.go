// Command golden makes the golden archive of a release, which test/compat reads with the programs of later
// releases.
//
//	golden.sh ── checkout of the release's commit ──▶ golden ──▶ expected.json, pebble.tar.gz, cassandra.json.gz
package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/compat/golden"
)

func main() {
	to := flag.String("to", "", "directory for the files")
	release := flag.String("release", "", "version of the release")
	commit := flag.String("commit", "", "commit of the release")
	host := flag.String("cassandra", "", "HOST:PORT of a Cassandra node")
	flag.Parse()
	if err := run(context.Background(), *to, *release, *commit, *host); err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, to, release, commit, host string) error {
	text, err := json.Marshal(golden.Expected(release, commit, golden.Rounds))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "expected.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if err := inDirectory(ctx, filepath.Join(to, "pebble.tar.gz")); err != nil {
		return err
	}
	return inCassandra(ctx, host, filepath.Join(to, "cassandra.json.gz"))
}

// inDirectory fills an archive in a directory, and writes it as a tar file. The store is not closed
// before, so that the write-ahead log has rows, as after a kill.
func inDirectory(ctx context.Context, name string) error {
	dir, err := os.MkdirTemp("", "golden-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	st, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	if err := golden.Fill(ctx, st); err != nil {
		return err
	}
	return compressed(name, func(w io.Writer) error { return pack(dir, w) })
}

func pack(dir string, w io.Writer) error {
	out := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "LOCK" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Name: d.Name(), Mode: 0o600, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	})
	return errors.Join(err, out.Close())
}

// keyspace is the keyspace for the archive. It must not exist.
const keyspace = "golden"

func inCassandra(ctx context.Context, host, name string) error {
	cfg := cql.Config{Hosts: []string{host}, Keyspace: keyspace, ReplicationFactor: 1, Timeout: time.Minute, Tiers: []store.Tier{store.Forever}}
	if err := schema.Create(ctx, cfg); err != nil {
		return err
	}
	st, err := cassandra.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := golden.Fill(ctx, st); err != nil {
		return err
	}
	cluster := gocql.NewCluster(host)
	cluster.ProtoVersion, cluster.Timeout = 5, time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		return err
	}
	defer session.Close()
	return compressed(name, func(w io.Writer) error { return golden.WriteDump(ctx, session, keyspace, w) })
}

// compressed writes a file through gzip.
func compressed(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(write(z), z.Close(), f.Close())
}
