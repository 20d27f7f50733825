package rdb

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// maxNames bounds a table of names: the engine adds a row for each new text of an alarm.
const maxNames = 1 << 20

// nameTable is a table of IDs and names. A running engine adds rows to it.
type nameTable struct {
	db           *sql.DB
	table, query string

	mu      sync.Mutex
	names   map[int64]string
	missing map[int64]bool // IDs that the table did not have. The engine writes a name before it uses the ID
}

// name returns the name of an ID. If it does not know the ID, it reads the table again.
func (t *nameTable) name(ctx context.Context, id int64) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name, found := t.names[id]; found {
		return name, nil
	}
	if !t.missing[id] {
		if err := t.read(ctx); err != nil {
			return "", err
		}
	}
	name, found := t.names[id]
	if !found {
		t.missing[id] = true
		return "", fmt.Errorf("the table %s has no row %d", t.table, id)
	}
	return name, nil
}

// load reads the table.
func (t *nameTable) load(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.read(ctx)
}

// read reads the table. The caller holds mu.
func (t *nameTable) read(ctx context.Context) error {
	names := map[int64]string{}
	if t.missing == nil || len(t.missing) > maxNames {
		t.missing = map[int64]bool{}
	}
	rows, err := t.db.QueryContext(ctx, t.query)
	if err != nil {
		return fmt.Errorf("reading the table %s: %w", t.table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var name sql.NullString
		if err := rows.Scan(&id, &name); err != nil {
			return fmt.Errorf("reading the table %s: %w", t.table, err)
		}
		if names[id] = name.String; len(names) > maxNames {
			return fmt.Errorf("the table %s has more than %d rows", t.table, maxNames)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading the table %s: %w", t.table, err)
	}
	t.names = names
	return nil
}
