-- Locks: none
CREATE TABLE inbox_reason (
  code TEXT NOT NULL,
  CONSTRAINT inbox_reason_pkey PRIMARY KEY (code)
);
