-- Leaderboards and tournaments whose records show no ranks.
ALTER TABLE leaderboards ADD COLUMN has_ranks BOOLEAN NOT NULL DEFAULT TRUE;
