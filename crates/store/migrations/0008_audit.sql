-- Roles are loaded at the start; nearly all accounts are players.
CREATE INDEX users_by_role ON users (role) WHERE role <> 'player';

-- Uses of permissions. Refusals are counted by actor, action and hour, so that nobody can fill the table. An actor of
-- zeros is the operator or unknown, a user of zeros is nobody; so there are no references.
CREATE TABLE audit_entries (
    -- Start of the hour of refusals; the time of an allowed action.
    period BIGINT NOT NULL,
    actor_id UUID NOT NULL,
    user_id UUID NOT NULL,
    action TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '',
    count BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (period, actor_id, user_id, action, outcome)
){by_key};
CREATE INDEX audit_entries_by_outcome ON audit_entries (outcome, last_at);
CREATE INDEX audit_entries_by_time ON audit_entries (last_at);
CREATE INDEX audit_entries_by_actor ON audit_entries (actor_id);
CREATE INDEX audit_entries_by_user ON audit_entries (user_id);
