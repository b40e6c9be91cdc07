-- Brackets: entrants, and the actions from which the state of a started bracket is replayed.

CREATE TABLE brackets (
    id TEXT NOT NULL PRIMARY KEY,
    title TEXT NOT NULL,
    format TEXT NOT NULL,
    seeding TEXT NOT NULL,
    -- Leaderboard or tournament whose ranks are the seeds, if the seeding says so.
    leaderboard TEXT NOT NULL,
    rounds BIGINT NOT NULL,
    match_seconds BIGINT NOT NULL,
    max_size BIGINT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',
    phase TEXT NOT NULL,
    -- Changes with every change of the bracket and its entrants.
    version BIGINT NOT NULL,
    size BIGINT NOT NULL DEFAULT 0,
    -- Time of the next deadline of a match, in milliseconds since 1970; null if there is none.
    deadline BIGINT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT
){by_key};
CREATE INDEX brackets_by_phase ON brackets (phase, created_at, id);
CREATE INDEX brackets_by_deadline ON brackets (deadline) WHERE deadline IS NOT NULL;
CREATE INDEX brackets_by_time ON brackets (created_at, id);

-- The row of an erased user is deleted. The seed stays without a user.
CREATE TABLE bracket_entrants (
    bracket TEXT NOT NULL REFERENCES brackets (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    username TEXT NOT NULL,
    rating BIGINT NOT NULL,
    -- From 0; null until the start.
    seed BIGINT,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (bracket, user_id)
){by_key};
CREATE INDEX bracket_entrants_by_user ON bracket_entrants (user_id);

-- Actions name entrants by their seeds, so they have no data of users.
CREATE TABLE bracket_actions (
    bracket TEXT NOT NULL REFERENCES brackets (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    action TEXT NOT NULL,
    PRIMARY KEY (bracket, number)
){by_key};
