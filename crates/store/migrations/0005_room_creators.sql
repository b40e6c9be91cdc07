-- Accounts that created durable rooms. Rooms of the server, and those of earlier versions, have no row.
CREATE TABLE room_creators (
    room TEXT NOT NULL PRIMARY KEY REFERENCES rooms (id) ON DELETE CASCADE,
    user_id UUID NOT NULL
){by_key};
CREATE INDEX room_creators_by_user ON room_creators (user_id);
