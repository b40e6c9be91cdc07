-- Running totals of the objects of each user, so that a write need not count them.
--
-- Triggers keep them, so that no statement can forget to. Objects of the server, with the id of zeros, are not counted:
-- they have no quota, and on PostgreSQL all their writers would wait for one row. Lines after {sqlite} and {postgres} are
-- for one database, up to {both}.

CREATE TABLE storage_totals (
    user_id UUID NOT NULL PRIMARY KEY,
    objects BIGINT NOT NULL,
    bytes BIGINT NOT NULL
){by_key};

-- {sqlite}
INSERT INTO storage_totals (user_id, objects, bytes)
    SELECT user_id, count(*), sum(octet_length(value)) FROM storage_objects
    WHERE user_id <> x'00000000000000000000000000000000' GROUP BY user_id;

CREATE TRIGGER storage_totals_insert AFTER INSERT ON storage_objects
    WHEN NEW.user_id <> x'00000000000000000000000000000000'
BEGIN
    INSERT INTO storage_totals (user_id, objects, bytes) VALUES (NEW.user_id, 1, octet_length(NEW.value))
        ON CONFLICT (user_id) DO UPDATE SET objects = objects + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER storage_totals_update AFTER UPDATE OF value ON storage_objects
BEGIN
    UPDATE storage_totals SET bytes = bytes + octet_length(NEW.value) - octet_length(OLD.value)
        WHERE user_id = NEW.user_id;
END;
CREATE TRIGGER storage_totals_delete AFTER DELETE ON storage_objects
BEGIN
    UPDATE storage_totals SET objects = objects - 1, bytes = bytes - octet_length(OLD.value)
        WHERE user_id = OLD.user_id;
END;
-- {postgres}
INSERT INTO storage_totals (user_id, objects, bytes)
    SELECT user_id, count(*), sum(octet_length(value)) FROM storage_objects
    WHERE user_id <> '00000000-0000-0000-0000-000000000000' GROUP BY user_id;

-- Once for each statement, because changing a row ten thousand times in a transaction takes quadratic time. Whoever changes
-- objects locks the row of their owner in `users` before, so that the order of locks is the same everywhere.
CREATE OR REPLACE FUNCTION storage_totals_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO storage_totals AS t (user_id, objects, bytes)
        SELECT user_id, count(*), sum(octet_length(value)) FROM added
        WHERE user_id <> '00000000-0000-0000-0000-000000000000' GROUP BY user_id ORDER BY user_id
        ON CONFLICT (user_id) DO UPDATE SET objects = t.objects + excluded.objects, bytes = t.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION storage_totals_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_totals t SET bytes = t.bytes + d.bytes
        FROM (SELECT user_id, sum(bytes) AS bytes FROM (
                SELECT user_id, octet_length(value) AS bytes FROM added
                UNION ALL SELECT user_id, -octet_length(value) FROM removed) AS changed GROUP BY user_id) AS d
        WHERE t.user_id = d.user_id AND d.bytes <> 0;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION storage_totals_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_totals t SET objects = t.objects - d.objects, bytes = t.bytes - d.bytes
        FROM (SELECT user_id, count(*) AS objects, sum(octet_length(value)) AS bytes FROM removed GROUP BY user_id) AS d
        WHERE t.user_id = d.user_id;
    RETURN NULL;
END $$;
CREATE TRIGGER storage_totals_insert AFTER INSERT ON storage_objects
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION storage_totals_insert();
CREATE TRIGGER storage_totals_update AFTER UPDATE ON storage_objects
    REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION storage_totals_update();
CREATE TRIGGER storage_totals_delete AFTER DELETE ON storage_objects
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION storage_totals_delete();
-- {both}
