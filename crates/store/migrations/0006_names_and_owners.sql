-- Keys of usernames that look alike, proof of ownership, and private rooms.

-- Two usernames with the same key look alike: see `aether-names`. Keys of existing names are filled in by the program, at
-- {fill}. Where existing names look alike, the oldest has the key, and the others stay valid without one.
ALTER TABLE users ADD COLUMN username_skeleton TEXT;
ALTER TABLE users ADD COLUMN username_folded TEXT;

-- Session that went on when the others of the user were ended.
ALTER TABLE users ADD COLUMN session_kept UUID;
-- When the custom id was linked; null if it is as old as the account.
ALTER TABLE users ADD COLUMN custom_id_at BIGINT;

-- A private room is joined by id or code only.
ALTER TABLE rooms ADD COLUMN is_private BOOLEAN NOT NULL DEFAULT FALSE;

-- {fill}
UPDATE users SET username_skeleton = NULL WHERE id IN (
    SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY username_skeleton ORDER BY created_at, id) AS place
        FROM users) AS ranked WHERE place > 1);
UPDATE users SET username_folded = NULL WHERE id IN (
    SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY username_folded ORDER BY created_at, id) AS place
        FROM users) AS ranked WHERE place > 1);
CREATE UNIQUE INDEX users_by_skeleton ON users (username_skeleton) WHERE username_skeleton IS NOT NULL;
CREATE UNIQUE INDEX users_by_folded ON users (username_folded) WHERE username_folded IS NOT NULL;
