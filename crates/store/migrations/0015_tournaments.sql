-- Tournaments: leaderboards that begin, end, and are joined.
--
-- A leaderboard with a duration is a tournament. Times are seconds since 1970, durations are seconds.

ALTER TABLE leaderboards ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE leaderboards ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE leaderboards ADD COLUMN category BIGINT NOT NULL DEFAULT 0;
-- 0 is the time of creation.
ALTER TABLE leaderboards ADD COLUMN start_time BIGINT NOT NULL DEFAULT 0;
-- 0 is never.
ALTER TABLE leaderboards ADD COLUMN end_time BIGINT NOT NULL DEFAULT 0;
ALTER TABLE leaderboards ADD COLUMN duration BIGINT NOT NULL DEFAULT 0;
-- 0 is no limit, for both.
ALTER TABLE leaderboards ADD COLUMN max_size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE leaderboards ADD COLUMN max_num_score BIGINT NOT NULL DEFAULT 0;
ALTER TABLE leaderboards ADD COLUMN join_required BOOLEAN NOT NULL DEFAULT FALSE;
-- Number of entrants in the period that ends at size_expiry.
ALTER TABLE leaderboards ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE leaderboards ADD COLUMN size_expiry BIGINT NOT NULL DEFAULT 0;
-- Ends up to this time were reported to the hooks.
ALTER TABLE leaderboards ADD COLUMN end_reported_until BIGINT NOT NULL DEFAULT 0;

-- Owners that joined a period of a tournament, or wrote a score in it.
CREATE TABLE tournament_entrants (
    tournament TEXT NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
    expiry BIGINT NOT NULL,
    owner_id UUID NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    -- Attempts beyond those of the tournament.
    attempts_added BIGINT NOT NULL DEFAULT 0,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (tournament, expiry, owner_id)
){by_key};
CREATE INDEX tournament_entrants_by_owner ON tournament_entrants (owner_id);
