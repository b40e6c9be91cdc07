-- Rooms that outlast the server, and who was in which room.

-- A room is held by one server at a time: only whoever knows its epoch, which grows with every new holder, writes to it.
CREATE TABLE rooms (
    id TEXT NOT NULL PRIMARY KEY,
    code TEXT NOT NULL UNIQUE,
    room_type TEXT NOT NULL,
    -- The label that whoever asked for the room gave, and the one that it shows.
    wanted_label TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- When something of it was stored last.
    updated_at BIGINT NOT NULL,
    players BIGINT NOT NULL DEFAULT 0,
    -- The highest number that a player was given; none is given twice.
    last_player BIGINT NOT NULL DEFAULT 0,
    node TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
){by_key};
CREATE INDEX rooms_by_wish ON rooms (room_type, wanted_label, updated_at);
CREATE INDEX rooms_by_node ON rooms (node);
CREATE INDEX rooms_by_update ON rooms (updated_at);

-- The newest state of a room has the number 0; the others are kept to look back.
CREATE TABLE room_states (
    room TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    taken_at BIGINT NOT NULL,
    players BIGINT NOT NULL,
    entities BIGINT NOT NULL,
    -- Entries of the journal up to this one are in the state.
    applied BIGINT NOT NULL,
    state {bytes} NOT NULL,
    PRIMARY KEY (room, number)
);

-- What was committed since the newest state.
CREATE TABLE room_journal (
    room TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    entry {bytes} NOT NULL,
    PRIMARY KEY (room, number)
){by_key};

-- Who has a place in a room, and the hash of the token by which they come back to it. The token before it is remembered
-- too: its holder may not have got the new one.
CREATE TABLE room_players (
    room TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
    player BIGINT NOT NULL,
    user_id UUID NOT NULL,
    session UUID NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    -- When the access token was issued by which they came, in seconds since 1970.
    issued_at BIGINT NOT NULL,
    hash {bytes} NOT NULL UNIQUE,
    previous_hash {bytes},
    -- Whether they were heard from since they got the token.
    heard BOOLEAN NOT NULL,
    PRIMARY KEY (room, player)
){by_key};
CREATE INDEX room_players_by_previous_hash ON room_players (previous_hash) WHERE previous_hash IS NOT NULL;
CREATE INDEX room_players_by_user ON room_players (user_id);

-- Written a moment later, when the user may be gone, so there is no reference.
CREATE TABLE room_visits (
    id UUID NOT NULL PRIMARY KEY,
    user_id UUID NOT NULL,
    session UUID NOT NULL,
    room TEXT NOT NULL,
    room_type TEXT NOT NULL,
    player BIGINT NOT NULL,
    node TEXT NOT NULL,
    joined_at BIGINT NOT NULL,
    left_at BIGINT,
    reason TEXT NOT NULL DEFAULT ''
){by_key};
CREATE INDEX room_visits_by_user ON room_visits (user_id, joined_at);
CREATE INDEX room_visits_open ON room_visits (room, player) WHERE left_at IS NULL;
CREATE INDEX room_visits_by_time ON room_visits (joined_at);
