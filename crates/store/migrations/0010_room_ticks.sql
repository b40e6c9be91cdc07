-- Ticks of durable rooms continue after a rebuild.

-- The last known tick of a room, and when it was known, by the database's clock. Zero if it is not known.
ALTER TABLE rooms ADD COLUMN tick BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rooms ADD COLUMN tick_at BIGINT NOT NULL DEFAULT 0;
-- The tick of a stored state.
ALTER TABLE room_states ADD COLUMN tick BIGINT NOT NULL DEFAULT 0;
