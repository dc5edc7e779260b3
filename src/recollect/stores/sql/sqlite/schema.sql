-- The whole schema of a new file, equal to what the migrations make of an old one.
--
-- Contiguity is the plan. A record's key is its owner's number in the high 32 bits and a slot counted from 0 in the low
-- ones; a vector's key is its lane (one owner's view in one space) and the same slot. So an owner's rows, and
-- each of its vector blocks, are one range of a B-tree: reading them costs what the owner's size costs, not the file's.

CREATE TABLE migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);

-- Facts about the file itself: `tokens`, the version of the tokenisation its packed terms were made with.
CREATE TABLE facts (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- `change` counts the entries in `changes`; `next_slot` is the number of slots ever given out.
CREATE TABLE owners (
  no INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  next_slot INTEGER NOT NULL DEFAULT 0,
  change INTEGER NOT NULL DEFAULT 0
);

-- Small columns first: loading an owner's columns and terms must not walk through long texts.
CREATE TABLE records (
  key INTEGER PRIMARY KEY,
  owner INTEGER NOT NULL REFERENCES owners,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  role TEXT NOT NULL,
  agent TEXT,
  project TEXT,
  session TEXT,
  turn INTEGER,
  at INTEGER,
  recorded_at INTEGER NOT NULL,
  valid_from INTEGER,
  valid_to INTEGER,
  superseded_at INTEGER,
  superseded_by TEXT,
  quality REAL NOT NULL,
  confidence REAL NOT NULL,
  reinforced INTEGER NOT NULL,
  length INTEGER NOT NULL,
  language TEXT NOT NULL,
  terms BLOB NOT NULL,
  text TEXT NOT NULL,
  speaker TEXT,
  source TEXT,
  tags TEXT,
  views TEXT,
  metadata TEXT
);
CREATE UNIQUE INDEX records_by_id ON records (owner, id);
CREATE INDEX records_by_session ON records (owner, session, turn) WHERE session IS NOT NULL;

-- What was extracted from a record is found by its source, to go with it.
CREATE INDEX derived_by_source ON records (owner, source) WHERE role = 'derived';

-- What records speak of, as JSON: a row for those only that speak of something, so that reading all of an owner's is short.
CREATE TABLE mentions (
  key INTEGER PRIMARY KEY,
  entities TEXT,
  links TEXT,
  dates TEXT
);

-- What happened to rows that a reader may hold already: amended and forgotten slots, new vectors. Appended records need no
-- entry, a reader sees them by their slot. Old entries are pruned; a reader who is further behind loads anew.
CREATE TABLE changes (
  owner INTEGER NOT NULL REFERENCES owners,
  change INTEGER NOT NULL,
  what TEXT NOT NULL,
  lane INTEGER NOT NULL DEFAULT 0,
  slots BLOB NOT NULL,
  PRIMARY KEY (owner, change)
) WITHOUT ROWID;

CREATE TABLE lanes (
  no INTEGER PRIMARY KEY,
  owner INTEGER NOT NULL REFERENCES owners,
  space TEXT NOT NULL,
  view TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  UNIQUE (owner, space, view)
);
CREATE INDEX lanes_by_space ON lanes (space);

-- float32 little-endian, unit length. `hash` is the text's: the same text is never embedded twice.
CREATE TABLE vectors (
  key INTEGER PRIMARY KEY,
  hash BLOB NOT NULL,
  vector BLOB NOT NULL
);
CREATE INDEX vectors_by_hash ON vectors (hash);

-- Texts that wait for their vectors. A claimed job is due again when its lease ends.
CREATE TABLE outbox (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  key INTEGER NOT NULL,
  space TEXT NOT NULL,
  view TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  due INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  UNIQUE (key, space, view)
);
CREATE INDEX outbox_by_due ON outbox (space, due, number);

CREATE TABLE settings (
  owner INTEGER NOT NULL REFERENCES owners,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (owner, name)
) WITHOUT ROWID;

-- What the doors keep: access tokens, answers given already. A note with an `until` goes some time after it.
CREATE TABLE notes (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  until INTEGER,
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX notes_by_until ON notes (until) WHERE until IS NOT NULL;

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
