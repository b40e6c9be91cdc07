-- Stored notifications of users.

-- Number of notifications that were stored for a user, deleted ones included. The next one gets the number after it.
ALTER TABLE users ADD COLUMN notification_count BIGINT NOT NULL DEFAULT 0;

-- Read in the order of their numbers, which is the order of their commits: a cursor never passes one that is stored later.
CREATE TABLE notifications (
    user_id UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    id UUID NOT NULL,
    subject TEXT NOT NULL,
    content TEXT NOT NULL,
    code BIGINT NOT NULL,
    -- Null if the server sent it. Notifications of a user are deleted with their sender.
    sender_id UUID,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, number)
){by_key};
CREATE UNIQUE INDEX notifications_by_id ON notifications (id);
CREATE INDEX notifications_by_sender ON notifications (sender_id) WHERE sender_id IS NOT NULL;
