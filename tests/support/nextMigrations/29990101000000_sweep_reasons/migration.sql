-- Locks: none
CREATE TABLE sweep_reason (
  code TEXT NOT NULL,
  CONSTRAINT sweep_reason_pkey PRIMARY KEY (code)
);
