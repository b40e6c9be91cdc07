-- Parameters that a room was created with, in JSON, for games that are made from them. Rooms of earlier versions have none.
ALTER TABLE rooms ADD COLUMN params TEXT NOT NULL DEFAULT 'null';
