-- Running totals of the objects on PostgreSQL by triggers for each row, which cost half as much for one object as triggers
-- for each statement. Deletes keep the latter: an erasure deletes many objects of one user at once.
-- {postgres}
DROP TRIGGER storage_totals_insert ON storage_objects;
DROP TRIGGER storage_totals_update ON storage_objects;

CREATE OR REPLACE FUNCTION storage_totals_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO storage_totals AS t (user_id, objects, bytes) VALUES (NEW.user_id, 1, octet_length(NEW.value))
        ON CONFLICT (user_id) DO UPDATE SET objects = t.objects + 1, bytes = t.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION storage_totals_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_totals SET bytes = bytes + octet_length(NEW.value) - octet_length(OLD.value)
        WHERE user_id = NEW.user_id;
    RETURN NULL;
END $$;
CREATE TRIGGER storage_totals_insert AFTER INSERT ON storage_objects
    FOR EACH ROW WHEN (NEW.user_id <> '00000000-0000-0000-0000-000000000000')
    EXECUTE FUNCTION storage_totals_insert();
CREATE TRIGGER storage_totals_update AFTER UPDATE OF value ON storage_objects
    FOR EACH ROW WHEN (octet_length(NEW.value) <> octet_length(OLD.value))
    EXECUTE FUNCTION storage_totals_update();
-- {both}
