-- Reports of players about players, and mutes.

CREATE TABLE reports (
    id UUID NOT NULL PRIMARY KEY,
    reporter_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    target_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- `open` or `resolved`.
    state TEXT NOT NULL,
    -- List of statements in JSON: category, text and context of each.
    statements TEXT NOT NULL,
    decision TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    -- Account that resolved it. Zeros for the operator; it may be gone, so there is no reference.
    resolver UUID NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    resolved_at BIGINT
){by_key};
-- One open report of a player about another.
CREATE UNIQUE INDEX reports_open ON reports (reporter_id, target_id) WHERE state = 'open';
CREATE INDEX reports_by_reporter ON reports (reporter_id, created_at);
CREATE INDEX reports_by_target ON reports (target_id, state, created_at, id);
CREATE INDEX reports_by_state ON reports (state, created_at, id);

-- Mutes, also past ones. One that was not lifted ends at its expiry; the highest number is no end.
CREATE TABLE mutes (
    id UUID NOT NULL PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    reason TEXT NOT NULL,
    -- Account that muted. Zeros for the operator.
    muted_by UUID NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    lifted_at BIGINT
){by_key};
CREATE INDEX mutes_by_user ON mutes (user_id, created_at);
CREATE INDEX mutes_by_expiry ON mutes (expires_at, id) WHERE lifted_at IS NULL;
CREATE INDEX mutes_by_lift ON mutes (lifted_at) WHERE lifted_at IS NOT NULL;
