-- What the doors keep: access tokens, answers given already. A note with an `until` goes some time after it.
CREATE TABLE notes (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  until INTEGER,
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX notes_by_until ON notes (until) WHERE until IS NOT NULL;
