package rdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Options configure Open.
type Options struct {
	// URL is the address of the database: postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE,
	// with the options of the drivers pgx and go-sql-driver/mysql as its query.
	URL string
	// Password is used if the URL has none.
	Password string
	// Zone is the time zone of columns that hold a local time without a zone. It may be nil if there are none.
	Zone *time.Location
	// RoundedSeconds says that smpl_time was rounded to full seconds. If it is false, it was cut off.
	// Engines before 2022 wrote the full time, and MySQL rounds it (MariaDB and PostgreSQL do not):
	// https://github.com/ControlSystemStudio/phoebus/issues/2368.
	RoundedSeconds bool
	// Want decides which PVs to read. It gets their canonical names.
	Want func(pv string) bool
}

// connectTimeout bounds the first connection and the reading of the small tables.
const connectTimeout = 30 * time.Second

// Open connects to the database and reads the names of its channels. The caller must close the Source.
func Open(ctx context.Context, opts Options) (*Source, error) {
	db, d, err := connect(&opts)
	if err != nil {
		return nil, err
	}
	s := &Source{db: db, dialect: d, opts: opts, opened: time.Now()}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// Close closes the connections.
func (s *Source) Close() error { return s.db.Close() }

// connect opens the database. Its errors never contain the password.
func connect(opts *Options) (*sql.DB, dialect, error) {
	u, err := url.Parse(opts.URL)
	if err != nil {
		return nil, 0, errors.New("the address of the database is not a URL")
	}
	if opts.Password != "" {
		if u.User.Username() == "" {
			return nil, 0, errors.New("there is a password, and the address of the database names no user: want SCHEME://USER@HOST/DATABASE")
		}
		if _, has := u.User.Password(); !has {
			u.User = url.UserPassword(u.User.Username(), opts.Password)
		}
	}
	switch u.Scheme {
	case "postgres", "postgresql":
		cfg, err := pgx.ParseConfig(u.String())
		if err != nil {
			return nil, 0, fmt.Errorf("the address of the database: %w", err)
		}
		cfg.RuntimeParams["default_transaction_read_only"] = "on"
		cfg.RuntimeParams["application_name"] = "varve import"
		return stdlib.OpenDB(*cfg), postgres, nil
	case "mysql", "mariadb":
		cfg, err := mysqlConfig(u)
		if err != nil {
			return nil, 0, fmt.Errorf("the address of the database: %w", err)
		}
		c, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, 0, fmt.Errorf("the address of the database: %w", err)
		}
		return sql.OpenDB(c), mySQL, nil
	}
	return nil, 0, fmt.Errorf("the address of the database begins with %q: want postgres:// or mysql://", u.Scheme+"://")
}

// mysqlConfig returns the configuration of the driver for an address.
func mysqlConfig(u *url.URL) (*mysql.Config, error) {
	database := strings.TrimPrefix(u.Path, "/")
	if u.Hostname() == "" || database == "" || strings.Contains(database, "/") {
		return nil, errors.New("want mysql://USER@HOST/DATABASE")
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	cfg, err := mysql.ParseDSN("tcp(" + host + ":" + port + ")/?" + u.RawQuery)
	if err != nil {
		return nil, err
	}
	cfg.DBName = database
	if u.User != nil {
		cfg.User = u.User.Username()
		cfg.Passwd, _ = u.User.Password()
	}
	cfg.ParseTime, cfg.Loc = true, time.UTC
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["time_zone"] = "'+00:00'" // the server converts TIMESTAMP columns to UTC
	// The server would end a query if the import reads nothing for a minute, as it does with a low rate.
	cfg.Params["net_write_timeout"] = "86400"
	return cfg, nil
}

// prepare reads the layout of the tables, the small tables, and the channels.
func (s *Source) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := s.db.PingContext(ctx); err != nil {
		return fmt.Errorf("connecting to the database: %w", err)
	}
	if err := s.layout(ctx); err != nil {
		return err
	}
	s.statuses = &nameTable{db: s.db, table: "status", query: "SELECT status_id, name FROM status"}
	s.severities = &nameTable{db: s.db, table: "severity", query: "SELECT severity_id, name FROM severity"}
	for _, t := range []*nameTable{s.statuses, s.severities} {
		if err := t.load(ctx); err != nil {
			return err
		}
	}
	return s.readChannels(ctx)
}

// layout finds out which columns the tables have.
func (s *Source) layout(ctx context.Context) error {
	columns, err := s.columns(ctx, "sample")
	if err != nil {
		return fmt.Errorf("the database has no table sample of an RDB archiver: %w", err)
	}
	for _, name := range []string{"channel_id", "smpl_time", "nanosecs", "severity_id", "status_id", "num_val", "float_val", "str_val"} {
		if columns[name] == "" {
			return fmt.Errorf("the table sample has no column %s: this is not the layout of an RDB archiver in PostgreSQL or MySQL", name)
		}
	}
	s.blobs = columns["datatype"] != "" && columns["array_val"] != ""
	s.wide = !slices.Contains([]string{"INT2", "INT4", "INT", "MEDIUMINT", "SMALLINT", "TINYINT"}, columns["num_val"])
	if s.sampleTime, err = s.column("sample", columns["smpl_time"]); err != nil {
		return err
	}
	columns, err = s.columns(ctx, "array_val")
	switch {
	case noTable(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the table array_val: %w", err)
	}
	// A running engine may write the first elements after this.
	if s.elements = !s.blobs; s.blobs {
		if s.elements, err = s.hasRows(ctx, "SELECT 1 FROM array_val LIMIT 1"); err != nil {
			return fmt.Errorf("reading the table array_val: %w", err)
		}
	}
	if !s.elements {
		return nil
	}
	s.elementTime, err = s.column("array_val", columns["smpl_time"])
	return err
}

// noTable reports whether an error means that a table does not exist.
func noTable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "42P01" // undefined_table
	}
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && my.Number == 1146 // ER_NO_SUCH_TABLE
}

// column returns how a column smpl_time of a type holds the time.
func (s *Source) column(table, kind string) (timeColumn, error) {
	c := timeColumn{rounded: s.opts.RoundedSeconds}
	switch {
	case s.dialect == mySQL && kind == "TIMESTAMP", kind == "TIMESTAMPTZ":
	case kind == "TIMESTAMP" || kind == "DATETIME":
		if c.zone = s.opts.Zone; c.zone == nil {
			return c, fmt.Errorf("the times in the table %s are local times without a zone: say in which zone the archive engine ran, such as --zone Europe/Berlin", table)
		}
	default:
		return c, fmt.Errorf("the column smpl_time of the table %s has the type %q: want a time", table, kind)
	}
	return c, nil
}

// columns returns the types of the columns of a table, by name.
func (s *Source) columns(ctx context.Context, table string) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, t := range types {
		out[strings.ToLower(t.Name())] = t.DatabaseTypeName()
	}
	return out, rows.Err()
}

// hasRows reports whether a query returns a row.
func (s *Source) hasRows(ctx context.Context, query string, args ...any) (bool, error) {
	var n int
	switch err := s.db.QueryRowContext(ctx, query, args...).Scan(&n); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}
