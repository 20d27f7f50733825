CREATE TABLE channel (channel_id BIGSERIAL PRIMARY KEY, name VARCHAR(100) NOT NULL, descr VARCHAR(100), grp_id BIGINT,
  smpl_mode_id BIGINT, smpl_val DOUBLE PRECISION, smpl_per DOUBLE PRECISION, retent_id BIGINT, retent_val DOUBLE PRECISION);
CREATE TABLE severity (severity_id BIGSERIAL PRIMARY KEY, name VARCHAR(100) NOT NULL);
CREATE TABLE status (status_id BIGSERIAL PRIMARY KEY, name VARCHAR(100) NOT NULL UNIQUE);
CREATE TABLE sample (channel_id BIGINT NOT NULL, smpl_time TIMESTAMPTZ NOT NULL, nanosecs BIGINT NOT NULL,
  severity_id BIGINT NOT NULL, status_id BIGINT NOT NULL, num_val INT, float_val DOUBLE PRECISION, str_val VARCHAR(120),
  datatype CHAR(1) DEFAULT ' ', array_val BYTEA);
CREATE INDEX sample_id_time ON sample (channel_id, smpl_time, nanosecs);
CREATE TABLE array_val (channel_id BIGINT NOT NULL, smpl_time TIMESTAMPTZ NOT NULL, nanosecs BIGINT NOT NULL,
  seq_nbr BIGINT NOT NULL, float_val DOUBLE PRECISION);
CREATE TABLE num_metadata (channel_id BIGINT PRIMARY KEY, low_disp_rng DOUBLE PRECISION, high_disp_rng DOUBLE PRECISION,
  low_warn_lmt DOUBLE PRECISION, high_warn_lmt DOUBLE PRECISION, low_alarm_lmt DOUBLE PRECISION,
  high_alarm_lmt DOUBLE PRECISION, prec INT, unit VARCHAR(100) NOT NULL);
CREATE TABLE enum_metadata (channel_id BIGINT NOT NULL, enum_nbr INT, enum_val VARCHAR(120));
