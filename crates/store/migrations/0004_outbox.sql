-- The account that caused a message, and orders by topic and by age.

-- Null for messages that the server caused.
ALTER TABLE outbox ADD COLUMN account UUID;

-- Topics take turns, so each has an order of its own.
DROP INDEX outbox_by_due;
CREATE INDEX outbox_by_topic ON outbox (topic, parked, due_at, id);
CREATE INDEX outbox_by_account ON outbox (account) WHERE account IS NOT NULL;
CREATE INDEX outbox_parked ON outbox (created_at) WHERE parked;
