package schema

import (
	"context"
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// ErrRoles means that the servers have no roles, or that a role must not be changed.
var ErrRoles = errors.New("the role cannot be created")

// Role is the user with which engines and retrieval log in.
type Role struct{ Name, Password string }

// views are Cassandra's own tables that engines read from each node. They contain the disk
// space of the archive and its limit.
var views = []string{"system_views.disk_usage", "system_views.settings"}

// GrantRole creates a role if it does not exist, sets its password, and lets it read and
// write the archive's tables. The role may not create or change tables, or read other
// keyspaces.
func GrantRole(ctx context.Context, config cql.Config, role Role) error {
	cfg, err := complete(config)
	if err != nil {
		return err
	}
	cfg.Timeout = max(cfg.Timeout, schemaTimeout)
	session, err := cfg.Probe()
	if err != nil {
		return err
	}
	defer cql.Close(session, cfg.Log)
	var super bool
	err = session.Query("SELECT is_superuser FROM system_auth.roles WHERE role = ?", role.Name).Consistency(gocql.LocalQuorum).ScanContext(ctx, &super)
	known := err == nil
	switch {
	case !known && !errors.Is(err, gocql.ErrNotFound):
		return fmt.Errorf("reading role %s: %w", role.Name, cql.Permitted(err))
	case super:
		return fmt.Errorf("%w: %s is a superuser, which engines must not be", ErrRoles, role.Name)
	}
	name := named(role.Name)
	// Only one of the two statements sets the password, because Cassandra allows one change of
	// a password in 5 s.
	set := "CREATE ROLE IF NOT EXISTS " + name + " WITH SUPERUSER = false AND"
	if known {
		set = "ALTER ROLE " + name + " WITH"
	}
	statements := []string{
		set + " LOGIN = true AND PASSWORD = " + quoted(role.Password),
		"GRANT SELECT ON KEYSPACE " + cfg.Keyspace + " TO " + name,
		"GRANT MODIFY ON KEYSPACE " + cfg.Keyspace + " TO " + name,
	}
	for _, view := range views {
		statements = append(statements, "GRANT SELECT ON TABLE "+view+" TO "+name)
	}
	for _, stmt := range statements {
		if err := session.Query(stmt).ExecContext(ctx); err != nil {
			return fmt.Errorf("creating role %s: %w", role.Name, unsupported(cql.Permitted(err)))
		}
	}
	return nil
}

// unsupported replaces the error of servers without roles by ErrRoles.
func unsupported(err error) error {
	var refused gocql.RequestError
	if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeInvalid {
		return fmt.Errorf("%w: %s; cassandra.yaml needs authenticator PasswordAuthenticator and authorizer CassandraAuthorizer", ErrRoles, refused.Message())
	}
	return err
}
