// Package database starts PostgreSQL and MariaDB for tests:
//
//	hack/databases.sh ─▶ programs of Debian ─▶ Postgres, MariaDB ─▶ URL of an empty database
//
// The servers listen on 127.0.0.1, need no password, and end with the test.
package database

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // for sql.Open
	_ "github.com/jackc/pgx/v5/stdlib" // for sql.Open

	"varve.dev/varve/test/child"
	"varve.dev/varve/test/freeport"
)

// patience bounds the start and the stop of a server.
const patience = 2 * time.Minute

// Database is a running server with an empty database.
type Database struct {
	*sql.DB
	// URL is the address for rdb.Open.
	URL string
}

// Postgres starts a PostgreSQL server.
func Postgres(t *testing.T) *Database {
	t.Helper()
	initdb, postgres := program(t, "initdb"), program(t, "postgres")
	owner := notRoot(t)
	data := filepath.Join(directory(t, owner), "data")
	run(t, owner, initdb, "-D", data, "-U", "archive", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	return launch(t, owner, syscall.SIGINT, func(port int) ([]string, string, string, string) {
		url := fmt.Sprintf("postgres://archive@127.0.0.1:%d/postgres?sslmode=disable", port)
		return []string{postgres, "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1",
			"-c", "unix_socket_directories=", "-c", "fsync=off"}, "pgx", url, url
	})
}

// MariaDB starts a MariaDB server.
func MariaDB(t *testing.T) *Database {
	t.Helper()
	install, mariadbd := program(t, "mariadb-install-db"), program(t, "mariadbd")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := directory(t, nil)
	data := filepath.Join(dir, "data")
	run(t, nil, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--user="+me.Username)
	// The file is a part of the start, because root may only connect from localhost.
	script := filepath.Join(dir, "init.sql")
	if err := os.WriteFile(script, []byte("CREATE DATABASE IF NOT EXISTS archive;\nCREATE USER IF NOT EXISTS archive@'%';\nGRANT ALL ON archive.* TO archive@'%';\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return launch(t, nil, syscall.SIGTERM, func(port int) ([]string, string, string, string) {
		args := []string{mariadbd, "--no-defaults", "--datadir=" + data, "--user=" + me.Username, "--port=" + strconv.Itoa(port),
			"--bind-address=127.0.0.1", "--socket=" + filepath.Join(dir, "s"), "--pid-file=" + filepath.Join(dir, "pid"),
			"--innodb-flush-log-at-trx-commit=0", "--init-file=" + script}
		return args, "mysql", fmt.Sprintf("mysql://archive@127.0.0.1:%d/archive", port),
			fmt.Sprintf("archive@tcp(127.0.0.1:%d)/archive?time_zone=%%27%%2B00:00%%27", port)
	})
}

// maxStarts is how often a server is started. It ends at once if another process has taken its port.
const maxStarts = 5

// launch starts a server and waits until it answers. With a port, command returns the program and its
// arguments, and the driver, the URL and the data source name of the database.
func launch(t *testing.T, owner *syscall.Credential, stop syscall.Signal, command func(port int) (args []string, driver, url, dsn string)) *Database {
	t.Helper()
	for range maxStarts {
		port, err := freeport.Find("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		args, driver, url, dsn := command(port)
		ended := serve(t, owner, stop, args...)
		if db := open(t, driver, dsn, ended); db != nil {
			return &Database{db, url}
		}
	}
	t.Fatalf("the server has ended %d times", maxStarts)
	return nil
}

// open waits until the server answers. It returns nil if the server ends.
func open(t *testing.T, driver, dsn string, ended <-chan struct{}) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for end := time.Now().Add(patience); ; {
		select {
		case <-ended:
			return nil
		case <-time.After(50 * time.Millisecond):
		}
		if err = db.PingContext(t.Context()); err == nil {
			return db
		}
		if time.Now().After(end) {
			t.Fatalf("the database does not answer: %v", err)
		}
	}
}

// program returns the path of a program. Where there is none, the test is skipped, except in CI.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/" + name, "/usr/sbin/" + name} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	missing := "this test needs " + name + ": run hack/databases.sh"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// notRoot returns the user nobody if the test runs as root, as PostgreSQL refuses to run as root.
func notRoot(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// directory returns a new directory of a user. It is not below that of the test, into which only the user of
// the test may look.
func directory(t *testing.T, owner *syscall.Credential) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "database") //nolint:usetesting // other users must get into it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a program to its end.
func run(t *testing.T, owner *syscall.Credential, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// serve runs a server until the end of the test, which stops it with a signal. The channel is closed when the
// server ends.
func serve(t *testing.T, owner *syscall.Credential, stop syscall.Signal, args ...string) <-chan struct{} {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	ended, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(stop)
		timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		<-ended
		timer.Stop()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s:\n%s", args[0], text)
		}
		_ = log.Close()
	})
	return ended
}
