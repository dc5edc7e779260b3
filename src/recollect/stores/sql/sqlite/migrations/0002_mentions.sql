-- Entities, links and dates of records; what was derived from a record is found by its source.

CREATE INDEX derived_by_source ON records (owner, source) WHERE role = 'derived';

CREATE TABLE mentions (
  key INTEGER PRIMARY KEY,
  entities TEXT,
  links TEXT,
  dates TEXT
);
