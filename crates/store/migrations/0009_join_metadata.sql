-- Join metadata of the members of rooms: an object of texts in JSON. Members of earlier versions have none.
ALTER TABLE room_players ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
