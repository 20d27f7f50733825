CREATE TABLE channel (channel_id INT UNSIGNED NOT NULL PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100) NOT NULL,
  descr VARCHAR(100), grp_id INT UNSIGNED, smpl_mode_id INT UNSIGNED, smpl_val DOUBLE, smpl_per DOUBLE,
  retent_id INT UNSIGNED, retent_val DOUBLE);
CREATE TABLE severity (severity_id INT UNSIGNED NOT NULL PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100) NOT NULL);
CREATE TABLE status (status_id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100) NOT NULL UNIQUE);
CREATE TABLE sample (channel_id INT UNSIGNED NOT NULL, smpl_time TIMESTAMP NOT NULL, nanosecs INT UNSIGNED NOT NULL,
  severity_id INT UNSIGNED NOT NULL, status_id INT UNSIGNED NOT NULL, num_val INT, float_val REAL, str_val VARCHAR(120),
  datatype CHAR(1) CHARACTER SET binary DEFAULT ' ', array_val LONGBLOB);
CREATE INDEX sample_id_time ON sample (channel_id, smpl_time, nanosecs);
CREATE TABLE array_val (channel_id INT UNSIGNED NOT NULL, smpl_time TIMESTAMP NOT NULL, nanosecs INT UNSIGNED NOT NULL,
  seq_nbr INT UNSIGNED NOT NULL, float_val REAL);
CREATE TABLE num_metadata (channel_id INT UNSIGNED NOT NULL PRIMARY KEY, low_disp_rng REAL, high_disp_rng REAL,
  low_warn_lmt REAL, high_warn_lmt REAL, low_alarm_lmt REAL, high_alarm_lmt REAL, prec INT, unit VARCHAR(100) NOT NULL);
CREATE TABLE enum_metadata (channel_id INT UNSIGNED NOT NULL, enum_nbr INT, enum_val VARCHAR(120));
