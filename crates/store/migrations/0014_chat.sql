-- Channels of chat and their messages.

-- A channel with at least one stored message, by its id: '2...<room>', '3.<group>..', '4.<user>.<user>.'.
CREATE TABLE chat_channels (
    id TEXT NOT NULL PRIMARY KEY,
    -- The number of the last message. The numbers of a channel have no gaps.
    last_sequence BIGINT NOT NULL,
    created_at BIGINT NOT NULL
){by_key};

CREATE TABLE chat_messages (
    channel_id TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    -- The id that clients know. It contains the number, so it needs no index.
    id UUID NOT NULL,
    code BIGINT NOT NULL,
    -- All zeros for a message of the server.
    sender_id UUID NOT NULL,
    username TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (channel_id, sequence)
){by_key};
-- For the erasure of a user.
CREATE INDEX chat_messages_by_sender ON chat_messages (sender_id);
