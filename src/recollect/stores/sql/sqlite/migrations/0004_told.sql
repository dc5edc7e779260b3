-- What was told lately, as a digest of all that was said: the same again within some minutes is a repetition. Rows go when that
-- time is over, and with their record, or when it says something else.
CREATE TABLE told (
  owner INTEGER NOT NULL REFERENCES owners,
  digest BLOB NOT NULL,
  key INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (owner, digest)
) WITHOUT ROWID;
CREATE INDEX told_by_key ON told (key);
CREATE INDEX told_by_until ON told (until);
