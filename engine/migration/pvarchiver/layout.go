package pvarchiver

import (
	"context"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store/cassandra/cql"
)

// form describes a column of channel_access_samples with values.
type form struct {
	column string
	udt    string // user-defined type
	value  string // CQL type of its field value
	kind   sample.Type
}

// forms are the columns with raw samples. A DBR_CHAR becomes an uint8, as where Varve captures it.
var forms = []form{
	{"s_char", "channel_access_scalar_char", "tinyint", sample.Uint8},
	{"s_double", "channel_access_scalar_double", "double", sample.Float64},
	{"s_enum", "channel_access_scalar_enum", "smallint", sample.Enum},
	{"s_float", "channel_access_scalar_float", "float", sample.Float32},
	{"s_long", "channel_access_scalar_long", "int", sample.Int32},
	{"s_short", "channel_access_scalar_short", "smallint", sample.Int16},
	{"s_string", "channel_access_scalar_string", "text", sample.String},
	{"a_char", "channel_access_array_char", "blob", sample.Uint8.Array()},
	{"a_double", "channel_access_array_double", "blob", sample.Float64.Array()},
	{"a_enum", "channel_access_array_enum", "blob", sample.Enum.Array()},
	{"a_float", "channel_access_array_float", "blob", sample.Float32.Array()},
	{"a_long", "channel_access_array_long", "blob", sample.Int32.Array()},
	{"a_short", "channel_access_array_short", "blob", sample.Int16.Array()},
	{"a_string", "channel_access_array_string", "blob", sample.String.Array()},
}

// columns are the other columns that are read, by table.
var columns = map[string]map[string]string{
	"channels": {
		"channel_name": "text", "decimation_level": "int", "bucket_start_time": "bigint", "bucket_end_time": "bigint",
		"channel_data_id": "uuid", "control_system_type": "text",
	},
	samples: {
		"channel_data_id": "uuid", "decimation_level": "int", "bucket_start_time": "bigint", "sample_time": "bigint",
		"disabled": "boolean", "disconnected": "boolean",
	},
}

// samples is the table of the samples.
const samples = "channel_access_samples"

// old are tables of the archivers 1 and 2.
var old = []string{"channelConfiguration", "samplesBucketSize", "engineConfiguration"}

// checkLayout returns an error unless the tables have the layout that the manual describes.
func checkLayout(ctx context.Context, session *gocql.Session, keyspace string) error {
	found := map[string]map[string]string{}
	rows := session.Query("SELECT table_name, column_name, type FROM system_schema.columns WHERE keyspace_name = ?", keyspace).IterContext(ctx)
	for table, column, kind := "", "", ""; rows.Scan(&table, &column, &kind); {
		if found[table] == nil {
			found[table] = map[string]string{}
		}
		found[table][column] = kind
	}
	if err := rows.Close(); err != nil {
		return fmt.Errorf("reading the layout of the tables, which needs Cassandra 3.0 or newer: %w", cql.Permitted(err))
	}
	for _, table := range old {
		if found[table] != nil {
			return fmt.Errorf("the keyspace %s has the table %s of the Cassandra Archiver 1 or 2: only version 3 can be imported", keyspace, table)
		}
	}
	for table, want := range columns {
		if found[table] == nil {
			return fmt.Errorf("the keyspace %s has no table %s of a Cassandra PV Archiver 3", keyspace, table)
		}
		for column, kind := range want {
			if err := same(table, column, found[table][column], kind); err != nil {
				return err
			}
		}
	}
	for _, f := range forms {
		if err := same(samples, f.column, found[samples][f.column], "frozen<"+f.udt+">"); err != nil {
			return err
		}
	}
	return checkTypes(ctx, session, keyspace)
}

// checkTypes returns an error unless the user-defined types have the fields that the manual describes.
func checkTypes(ctx context.Context, session *gocql.Session, keyspace string) error {
	rows := session.Query("SELECT type_name, field_names, field_types FROM system_schema.types WHERE keyspace_name = ?", keyspace).IterContext(ctx)
	found := map[string]map[string]string{}
	var name string
	var fields, types []string
	for rows.Scan(&name, &fields, &types) {
		found[name] = map[string]string{}
		for i, field := range fields {
			found[name][field] = types[i]
		}
	}
	if err := rows.Close(); err != nil {
		return fmt.Errorf("reading the user-defined types: %w", cql.Permitted(err))
	}
	for _, f := range forms {
		for field, kind := range map[string]string{"value": f.value, "alarm_severity": "smallint", "alarm_status": "smallint"} {
			if err := same("type "+f.udt, field, found[f.udt][field], kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func same(of, name, got, want string) error {
	switch got {
	case want:
		return nil
	case "":
		return fmt.Errorf("%s has no %s: this is not the layout of a Cassandra PV Archiver 3", of, name)
	}
	return fmt.Errorf("%s of %s has the type %s, not %s: this is not the layout of a Cassandra PV Archiver 3", name, of, got, want)
}
