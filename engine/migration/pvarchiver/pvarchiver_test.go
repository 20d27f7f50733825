package pvarchiver

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/test/cassandra"
)

func TestMain(m *testing.M) { cassandra.Main(m) }

// fixture makes a keyspace with the layout of the archiver, by statements that are written from the tables in its manual.
func fixture(t *testing.T) (cql.Config, *gocql.Session) {
	t.Helper()
	ks := cassandra.Shared(t)
	cluster := gocql.NewCluster(ks.Addr)
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	limits := func(kind string) (out string) {
		for _, name := range []string{"warning", "alarm", "display", "control"} {
			out += ", lower_" + name + "_limit " + kind + ", upper_" + name + "_limit " + kind
		}
		return out
	}
	exec(t, session, "CREATE KEYSPACE "+ks.Name+" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	columns := ""
	for name, kind := range map[string]string{"char": "tinyint", "short": "smallint", "long": "int", "float": "float", "double": "double", "enum": "smallint", "string": "text"} {
		more := ", units text" + limits(kind)
		switch name {
		case "float", "double":
			more = ", precision smallint" + more
		case "enum":
			more = ", labels frozen<list<text>>"
		case "string":
			more = ""
		}
		for form, value := range map[string]string{"scalar": kind, "array": "blob"} {
			exec(t, session, fmt.Sprintf("CREATE TYPE %s.channel_access_%s_%s (value %s, alarm_severity smallint, alarm_status smallint%s)", ks.Name, form, name, value, more))
			columns += fmt.Sprintf(", %c_%s frozen<channel_access_%s_%s>", form[0], name, form, name)
		}
	}
	exec(t, session, "CREATE TABLE "+ks.Name+".channel_access_samples (channel_data_id uuid, decimation_level int, bucket_start_time bigint, sample_time bigint,"+
		" current_bucket_size int static, disabled boolean, disconnected boolean"+columns+", PRIMARY KEY ((channel_data_id, decimation_level, bucket_start_time), sample_time))")
	exec(t, session, "CREATE TABLE "+ks.Name+".channels (channel_name text, decimation_level int, bucket_start_time bigint, bucket_end_time bigint, channel_data_id uuid static,"+
		" control_system_type text static, decimation_levels set<int> static, server_id uuid static, PRIMARY KEY (channel_name, decimation_level, bucket_start_time))")
	return cql.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name}, session
}

func exec(t *testing.T, session *gocql.Session, text string) {
	t.Helper()
	if err := session.Query(text).ExecContext(t.Context()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// sink notes what it receives, as text.
type sink struct {
	got, marks, problems, notes []string
	metadata                    *sample.Metadata
}

func (s *sink) Samples(_ context.Context, run *sample.Run) error {
	for i := range run.Len() {
		v := run.At(i)
		s.got = append(s.got, fmt.Sprintf("%04d %v %x %x %d %s", v.Time, run.Type, v.Word, v.Bytes, v.Tag.Severity(), v.Tag.StatusName()))
	}
	return nil
}
func (s *sink) Mark(m sample.Mark)          { s.marks = append(s.marks, fmt.Sprintf("%d %v", m.Time, m.Kind)) }
func (s *sink) Metadata(m *sample.Metadata) { s.metadata = m }
func (s *sink) Problem(place string, _ int64, err error) {
	s.problems = append(s.problems, place+": "+err.Error())
}
func (s *sink) Note(text string)    { s.notes = append(s.notes, text) }
func (s *sink) Progress(int, int64) {}

// TestReadsRawSamplesOfAllTypes has two buckets, marks, samples of another decimation level, a sample in a wrong bucket and damaged rows.
func TestReadsRawSamplesOfAllTypes(t *testing.T) {
	cfg, session := fixture(t)
	const id = "11111111-1111-1111-1111-111111111111"
	channels, samples := cfg.Keyspace+".channels", cfg.Keyspace+".channel_access_samples"
	exec(t, session, "INSERT INTO "+channels+" (channel_name, channel_data_id, control_system_type, decimation_levels) VALUES ('A:B', "+id+", 'channel_access', {0, 30})")
	exec(t, session, "INSERT INTO "+channels+" (channel_name, channel_data_id, control_system_type) VALUES ('tango/x', "+id+", 'tango')")
	exec(t, session, "INSERT INTO "+channels+" (channel_name, channel_data_id, control_system_type) VALUES ('no name', "+id+", 'channel_access')")
	for _, b := range [][3]int64{{0, 1000, 1999}, {0, 2000, math.MaxInt64}, {30, 500, 9999}} {
		exec(t, session, fmt.Sprintf("INSERT INTO %s (channel_name, decimation_level, bucket_start_time, bucket_end_time) VALUES ('A:B', %d, %d, %d)", channels, b[0], b[1], b[2]))
	}
	row := func(bucket, at int64, column, value string) {
		exec(t, session, fmt.Sprintf("INSERT INTO %s (channel_data_id, decimation_level, bucket_start_time, sample_time, %s) VALUES (%s, 0, %d, %d, %s)", samples, column, id, bucket, at, value))
	}
	alarm := ", alarm_severity: 2, alarm_status: 3}"
	row(1000, 1001, "s_double", "{value: 1.5"+alarm)
	row(1000, 1002, "disconnected", "true")
	row(1000, 1003, "s_float", "{value: 0.25"+alarm)
	row(1000, 1004, "s_char", "{value: -1"+alarm)
	row(1000, 1005, "s_short", "{value: -2"+alarm)
	row(1000, 1006, "s_long", "{value: -3"+alarm)
	row(1000, 1007, "s_enum", "{value: 7"+alarm)
	row(1000, 1008, "s_string", "{value: 'text'"+alarm)
	row(1000, 1009, "a_char", "{value: 0x01ff"+alarm)
	row(1000, 1010, "a_short", "{value: 0x0102fffe"+alarm)
	row(1000, 1011, "a_long", "{value: 0x01020304"+alarm)
	row(1000, 1012, "a_float", "{value: 0x3f800000"+alarm)
	row(1000, 1013, "a_double", "{value: 0x3ff0000000000000"+alarm)
	row(1000, 1014, "a_enum", "{value: 0x0007"+alarm)
	row(1000, 1015, "a_string", "{value: 0x6162"+strings.Repeat("00", 38)+alarm)
	row(1000, 1016, "a_short", "{value: 0x010203"+alarm)
	row(1000, 1017, "s_double", "{value: 1, alarm_severity: 4, alarm_status: 0}")
	row(1000, 1018, "s_double", "{alarm_severity: 0, alarm_status: 0}")
	row(1000, 1019, "s_double", "{value: 1"+alarm)
	row(1000, 1019, "s_long", "{value: 1"+alarm)
	row(1000, 1020, "disabled", "false")
	row(1000, 2500, "s_double", "{value: 99"+alarm) // in a wrong bucket
	row(2000, 2001, "disabled", "true")
	row(2000, 2002, "s_double", "{value: 2, alarm_severity: 0, alarm_status: 0, units: 'mA', precision: 3, upper_alarm_limit: 9.5}")
	s, err := Open(t.Context(), Options{Cluster: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !slices.Equal(s.PVs(), []string{"A:B"}) || len(s.Skipped) != 2 {
		t.Errorf("the PVs are %q, skipped are %+v", s.PVs(), s.Skipped)
	}
	to := &sink{}
	if err := s.Read(t.Context(), "A:B", math.MinInt64, math.MaxInt64, to); err != nil {
		t.Fatal(err)
	}
	slices.Sort(to.got)
	want := []string{
		"1001 float64 3ff8000000000000  2 HIHI", "1003 float32 3e800000  2 HIHI", "1004 uint8 ff  2 HIHI", "1005 int16 fffffffffffffffe  2 HIHI",
		"1006 int32 fffffffffffffffd  2 HIHI", "1007 enum 7  2 HIHI", "1008 string 0 74657874 2 HIHI", "1009 uint8[] 0 01ff 2 HIHI", "1010 int16[] 0 0201feff 2 HIHI",
		"1011 int32[] 0 04030201 2 HIHI", "1012 float32[] 0 0000803f 2 HIHI", "1013 float64[] 0 000000000000f03f 2 HIHI", "1014 enum[] 0 0700 2 HIHI",
		"1015 string[] 0 026162 2 HIHI", "2002 float64 4000000000000000  0 NO_ALARM",
	}
	if !slices.Equal(to.got, want) {
		t.Errorf("samples:\n%s\nwant:\n%s", strings.Join(to.got, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{"1002 disconnected", "1003 connected", "2001 paused", "2002 connected"}; !slices.Equal(to.marks, want) {
		t.Errorf("the marks are %q, want %q", to.marks, want)
	}
	for i, want := range []string{"1016: column a_short: the array has 3 bytes", "1017: column s_double: alarm_severity is 0004", "1018: column s_double: the value is null", "1019: the row has a value in", "1020: the row has no value"} {
		if len(to.problems) != 5 || !strings.Contains(to.problems[i], want) {
			t.Errorf("problem %d is not %q; all are:\n%s", i, want, strings.Join(to.problems, "\n"))
		}
	}
	if m := to.metadata; m == nil || m.Units != "mA" || m.Precision != 3 || m.AlarmHigh != 9.5 || !math.IsNaN(m.AlarmLow) {
		t.Errorf("the metadata are %+v", m)
	}
	if len(to.notes) != 1 || !strings.Contains(to.notes[0], "samples of decimation levels") {
		t.Errorf("the notes are %q", to.notes)
	}
	part := &sink{}
	if err := s.Read(t.Context(), "A:B", 1005, 1007, part); err != nil || len(part.got) != 2 {
		t.Errorf("from 1005 up to 1007: %q, %v", part.got, err)
	}
	// Another layout is refused.
	exec(t, session, "ALTER TABLE "+channels+" RENAME channel_name TO name")
	if _, err := Open(t.Context(), Options{Cluster: cfg}); err == nil || !strings.Contains(err.Error(), "channels has no channel_name") {
		t.Errorf("another layout: %v", err)
	}
	exec(t, session, "CREATE TABLE "+cfg.Keyspace+`."channelConfiguration" (a int PRIMARY KEY)`)
	if _, err := Open(t.Context(), Options{Cluster: cfg}); err == nil || !strings.Contains(err.Error(), "Archiver 1 or 2") {
		t.Errorf("an old archiver: %v", err)
	}
}

// FuzzValues checks that no bytes make a value that is larger than its bounds, or end the program.
func FuzzValues(f *testing.F) {
	f.Add(uint8(0), []byte{1}, []byte{0, 2}, []byte{0, 3})
	f.Add(uint8(13), []byte(strings.Repeat("a\x00", 20)), []byte{0, 0}, []byte{0, 0})
	f.Add(uint8(8), []byte{0, 0, 0, 0, 0, 0, 0, 1}, []byte{0, 0}, []byte{0})
	f.Fuzz(func(t *testing.T, form uint8, b, severity, status []byte) {
		one := &forms[int(form)%len(forms)]
		v := value{set: true, value: b, severity: severity, status: status, precision: status, limits: [8][]byte{b, severity}}
		v.metadata(one.kind)
		s, err := v.decode(one, 1)
		if err != nil {
			return
		}
		if len(s.Bytes) > len(b)+1 || one.kind.IsArray() && one.kind.ElemSize() > 0 && len(s.Bytes)%one.kind.ElemSize() != 0 {
			t.Errorf("%x of %s is %x", b, one.column, s.Bytes)
		}
		run := &sample.Run{Type: one.kind}
		run.Append(&s)
	})
}
